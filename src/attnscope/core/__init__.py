"""The mechanism: what happens between q, k, v and the weights, in torch alone.

Imports go one way: spans < visible < mask < places, given, ids < masks < bias, arithmetic < scores < scoring
< tile, mix < dense (the oracle), replay | normaliser < walk < certificate < fold < attention; positions,
designed.
"""
