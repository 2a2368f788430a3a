"""Finds the smallest rows on which two queries differ, and audits golden files with them."""
