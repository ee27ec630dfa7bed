"""Gymnasium environments over the tasks; registered by ``import labenv``."""
