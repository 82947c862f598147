#!/bin/sh
# Train an ensemble on many machines that share a folder: every job of the array trains its part of the networks.
#
#     sbatch --wait examples/slurm.sh data.npz run model.bemi
#     bemi train data.npz -o model.bemi --run run
#
#SBATCH --array=1-8
#SBATCH --cpus-per-task=4
#SBATCH --mem-per-cpu=1G
#SBATCH --time=02:00:00
set -eu
data=$1 run=$2 model=$3
exec bemi train "$data" -o "$model" --run "$run" --jobs "${SLURM_CPUS_PER_TASK:-1}" \
    --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT"
