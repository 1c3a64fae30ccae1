"""How components see and change the cluster: actions, controllers' contract, informer caches, work queues, clients."""
