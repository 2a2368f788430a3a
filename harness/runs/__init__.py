"""Schedules attempts, journals outcomes, sums them up."""
