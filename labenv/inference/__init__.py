"""The policy's backend: SGLang's protocol, and the routing of its mixture of experts replayed.

This room knows nothing of laboratories and could be used alone.
"""
