"""Benchmarks of engines, exports and whole classifiers: ``bemi-lab bench NAME``.  Imports nothing slow."""

BENCHMARKS = {
    "table": ("gaps", "gaps of every stage on the paper's cells, beside the paper's"),
    "sidebyside": ("gaps", "the chosen engine and the whole-stage program on the same problems"),
    "growth": ("gaps", "gap, seconds and memory by images, features, classes and weight bound"),
    "light": ("gaps", "samples in which one light image holds all margins down"),
    "exact": ("gaps", "stages and data where a bound is hard to come by"),
    "portfolio": ("gaps", "what each strategy of the decomposition contributes"),
    "ablation": ("gaps", "what becomes of the stages without each strategy"),
    "middle": ("middle", "random tables of middle size: what is proved in each stage, beside solvers"),
    "neurons": ("neurons", "the largest margin of a neuron on random tables, under given signs and any"),
    "ensemble": ("fitting", "whole classifiers on two cores: seconds, memory, accuracy, certificates"),
    "predict": ("fitting", "seconds of predict, beside a linear SVM"),
    "scaling": ("fitting", "many networks: processes, budgets, dispatch and memory"),
    "rows": ("fitting", "tables of up to 1,000,000 rows, beside other systems: seconds, memory, accuracy"),
    "scenarios": ("accuracy", "accuracy with and without disturbed copies of images"),
    "medoids": ("accuracy", "medoids of 400 rows per class against random rows"),
    "subsets": ("accuracy", "fewer networks, chosen from the data and at random"),
    "gain": ("accuracy", "copies of windows: accuracy at other gains and on late windows"),
    "learned": ("accuracy", "a class learned from five windows without training, beside add_classes"),
    "chances": ("accuracy", "probabilities, beside other ways to couple them"),
    "devices": ("devices", "C code on emulated boards, beside emlearn's: flash, RAM, instructions"),
    "hardware": ("hardware", "circuits: labels in two simulators, cells, clock"),
}
"""By name: the module whose ``BENCHMARKS`` has it, and what it measures."""
