"""Components as they run in process: clients, informers, the scheduler's runner, what they measure."""
