"""The state of an execution as a value: what two executions must share to go on alike."""
