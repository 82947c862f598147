"""The laboratory of bemi: experiments, systems to compare with, data sets and benchmarks."""
