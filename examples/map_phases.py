"""Map which phases BaCO3 and TiO2 give: measure wide gaps first, then boundaries."""

import gymnasium as gym
import numpy as np

import labenv  # noqa: F401 - registers the environment
from labenv.tasks.phase_mapping import boundary_cell, space_filling_cells

settings = {
    "systems": "BaCO3-TiO2",
    "compositions": 9,
    "temperatures": 5,
    "budget": {"lab_time": "150 h"},
}
env = gym.make("labenv/PhaseMapping-v0", **settings)
_, info = env.reset(seed=2)
mapping = env.unwrapped
grid = mapping.settings.grid(mapping.system)
wide, total, ended = space_filling_cells(grid)[:9], 0.0, False
measured = []

while not ended:
    cell = wide.pop(0) if wide else boundary_cell(grid, measured)
    action = np.array([*divmod(cell, grid.temperatures), 1])  # column, row, the second hold: 4 h
    _, reward, terminated, truncated, info = env.step(action)
    total, ended = total + float(reward), terminated or truncated
    if info["status"] == "invalid":
        break  # what is left of the lab time is not enough for this point
    reading = mapping.readings[-1]
    measured.append((cell, reading.label))
    where = f"x = {reading.point.x:.2f}, {reading.point.temperature_k - 273.15:4.0f} degC"
    print(f"{where}: {info['labels'][0]}")
env.close()

print(f"{len(measured)} points in {info['lab_time_h']:.0f} h; score {total:.3f}")
