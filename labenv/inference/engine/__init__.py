"""The engine of the embedded server: a real mixture of experts on CPUs, one token after another."""
