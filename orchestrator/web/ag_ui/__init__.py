"""Missions for chat clients that speak AG-UI: a mission as a run, its cards as interrupts."""
