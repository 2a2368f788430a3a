"""The one place that speaks HTTP to a model, and the gateway and scripted server that look like one."""
