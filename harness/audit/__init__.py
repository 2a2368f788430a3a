"""Audits golden files: are the goldens right, and does their fixture show what can go wrong?"""
