"""Admission control: authentication, quotas, fair queue, scheduler."""
