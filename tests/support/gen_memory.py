#!/usr/bin/python3
"""Write synthetic Ascend profiler captures with memory files and traces of any size.

Layout written below OUT (that of torch_npu's text export):
  OUT/<role>/<host>_<pid>_<stamp>_ascend_pt/profiler_info_<rank>.json
                                        /profiler_metadata.json
                                        /ASCEND_PROFILER_OUTPUT/trace_view.json
                                        /ASCEND_PROFILER_OUTPUT/operator_memory.csv

The share of cpu_op events with a call stack, stack depth and reuse follow what torch_npu writes with
with_stack=True. The bytes depend on the arguments alone. Prints role, rank, events, records.
"""
import argparse
import json
import os
import random

OPS = ["aten::empty", "aten::empty_strided", "aten::add", "aten::mul", "aten::matmul", "aten::clone",
       "aten::mean", "aten::pow", "aten::rsqrt", "aten::sigmoid", "aten::zeros", "aten::embedding",
       "aten::cat", "aten::softmax", "aten::native_dropout", "npu::_npu_dtype_cast", "npu::npu_fusion_attention",
       "aten::linear", "aten::silu", "aten::_to_copy", "npu::npu_rms_norm", "HcclAllgather", "HcclReduceScatter"]
FILES = [f"/opt/conda/lib/python3.11/site-packages/{module}" for module in
         ("torch/nn/modules/module.py", "torch/nn/modules/linear.py", "torch/autograd/function.py",
          "transformers/models/qwen2/modeling_qwen2.py", "torch/distributed/fsdp/_runtime_utils.py",
          "torch/utils/checkpoint.py", "verl/workers/actor/dp_actor.py", "verl/workers/fsdp_workers.py",
          "verl/single_controller/base/decorator.py", "ray/_private/function_manager.py")]
FUNCTIONS = ["forward", "_call_impl", "_wrapped_call_impl", "update_policy", "compute_log_prob", "backward", "inner",
             "actor_method_executor", "train_batch", "<lambda>"]
HOST_FUNCTIONS = ("torch/nn/modules/module.py(1751): _call_impl", "verl/utils/debug.py(33): log")
SHAPES = '"Input Dims": "4096,4096", "Input type": "c10::BFloat16"'
HEADER = ("Name,Size(KB),Allocation Time(us),Release Time(us),Active Release Time(us),Duration(us),Active Duration(us),"
          "Allocation Total Allocated(MB),Allocation Total Reserved(MB),Allocation Total Active(MB),"
          "Release Total Allocated(MB),Release Total Reserved(MB),Release Total Active(MB),Stream Ptr,Device Type\r\n")


def us(ns):
    """Nanoseconds as decimal microseconds."""
    return f"{ns // 1000}.{ns % 1000:03d}"


def call_stacks(rng, count):
    """`count` stacks of 4 to 40 frames as JSON text."""
    stacks = []
    for _ in range(count):
        depth = rng.randint(4, 40)
        stacks.append(json.dumps(";\r\n".join(
            f"{rng.choice(FILES)}({rng.randint(1, 2000)}): {rng.choice(FUNCTIONS)}" for _ in range(depth))))
    return stacks


class TraceWriter:
    """Draws the events of one rank; `t` is the time in ns, `allocations` are (operator, ns)."""

    def __init__(self, rng, start_ns):
        self.rng, self.t = rng, start_ns
        self.stacks = call_stacks(rng, 400)
        self.allocations, self.forward = [], []

    def write(self, path, limit_bytes):
        """Write a trace of about `limit_bytes`; the number of events."""
        size, number, pending = 0, 0, []
        with open(path, "w", encoding="utf-8") as stream:
            stream.write('[{"name": "process_name", "pid": 4242, "tid": 0, "args": {"name": "Python"}, "ph": "M"}')
            while size < limit_bytes:
                text, events = self.event(number)
                number += events
                pending.append(text)
                size += len(text)
                if len(pending) >= 4096:
                    stream.write("".join(pending))
                    pending.clear()
            stream.write("".join(pending) + "]")
        return number

    def event(self, n):
        """(text, number of events) of what comes next."""
        rng = self.rng
        self.t += rng.randint(300, 9000)
        ts = us(self.t)
        dur = f"{rng.randint(1, 400)}.{rng.randint(0, 999):03d}"
        kind = rng.random()
        if kind < 0.05 and self.forward:
            return self.backward(ts), 2
        return self.single(n, ts, dur, kind), 1

    def backward(self, ts):
        """An XBackward0 with the forward operator's sequence number, and the operator inside without a stack."""
        rng = self.rng
        sequence, op = self.forward[rng.randrange(max(0, len(self.forward) - 500), len(self.forward))]
        duration = rng.randint(40000, 300000)
        inner = self.t + 1000
        if rng.random() < 0.6:
            self.allocations.append((op, inner + rng.randint(0, duration - 3000)))
        self.t += duration
        head = '"pid": 4242, "tid": 4250'
        return (f', {{"ph": "X", "name": "{op.split("::")[1].capitalize()}Backward0", {head}, "ts": "{ts}", '
                f'"dur": {us(duration)}, "cat": "cpu_op", "args": {{"Sequence number": {sequence}, "Fwd thread id": 1, '
                f'{SHAPES}}}}}'
                f', {{"ph": "X", "name": "{op}", {head}, "ts": "{us(inner)}", "dur": {us(duration - 2000)}, '
                f'"cat": "cpu_op", "args": {{"Sequence number": -1, "Fwd thread id": 0, {SHAPES}}}}}')

    def operator(self, n, ts, dur):
        """A forward operator, mostly with a call stack."""
        rng = self.rng
        name = OPS[rng.randrange(len(OPS) - 2)]
        stack = ""
        if rng.random() < 0.9:
            stack = f', "Call stack": {self.stacks[rng.randrange(len(self.stacks))]}'
            self.forward.append((n, name))
        if rng.random() < 0.35:
            self.allocations.append((name, self.t + rng.randint(0, 200000)))
        return (f', {{"ph": "X", "name": "{name}", "pid": 4242, "tid": 4242, "ts": "{ts}", "dur": {dur}, '
                f'"cat": "cpu_op", "args": {{"Sequence number": {n}, "Fwd thread id": 0, '
                f'"Input Dims": "4,2048,4096;4096,4096", "Input type": "c10::BFloat16;c10::BFloat16"{stack}}}}}')

    def single(self, n, ts, dur, kind):
        """One event; `kind` in 0..1 chooses which."""
        rng = self.rng
        if kind < 0.22:
            return self.operator(n, ts, dur)
        if kind < 0.40:
            return (f', {{"ph": "X", "name": "{rng.choice(HOST_FUNCTIONS)}", "pid": 4242, "tid": 4242, "ts": "{ts}", '
                    f'"dur": {dur}, "cat": "python_function", '
                    f'"args": {{"Python id": {n}, "Python parent id": {max(0, n - 1)}}}}}')
        if kind < 0.52:
            return (f', {{"ph": "s", "bp": "e", "name": "async_npu", "id": {n}, "pid": 4242, "tid": 4242, '
                    f'"ts": "{ts}", "cat": "async_npu"}}')
        if kind < 0.64:
            return (f', {{"ph": "f", "bp": "e", "name": "HostToDevice", "id": "{n << 20}", "pid": 1056, "tid": 6, '
                    f'"ts": "{ts}", "cat": "HostToDevice"}}')
        if kind < 0.72:
            return (f', {{"name": "AscendCL@aclnnMatmul", "pid": 32, "tid": 4243, "ts": "{ts}", "dur": {dur}, '
                    f'"ph": "X", "args": {{"Thread Id": 4243, "Mode": "aclnnMatmul", "level": "acl", '
                    f'"id": "aclnnMatmul", "item_id": "aclnnMatmul", "connection_id": {n}}}}}')
        if kind < 0.84:
            return (f', {{"ph": "C", "name": "HBM 0/Read", "pid": 1088, "tid": 0, "ts": "{ts}", '
                    f'"args": {{"Read(MB/s)": {rng.randint(0, 900000)}.{rng.randint(0, 9)}}}}}')
        return (f', {{"name": "MatMulV3_{n % 97}", "pid": 1056, "tid": 6, "ts": "{ts}", "dur": {dur}, "ph": "X", '
                f'"args": {{"Model Id": 4294967295, "Task Type": "AI_CORE", "Physic Stream Id": 6, '
                f'"Task Id": {n % 65536}, "Batch Id": 0, "Subtask Id": 4294967295, "connection_id": {n}}}}}')


def write_table(path, rng, allocations, rank):
    """Write operator_memory.csv for `allocations`, a list of (operator, ns)."""
    total_mb = 19071.5
    with open(path, "w", encoding="utf-8", newline="") as stream:
        stream.write(HEADER)
        for name, ns in allocations:
            size_kb = rng.choice((0.5, 2.5, 8.5, 96.5, 8192.5, 65536.5))
            total_mb += size_kb / 1024 * rng.choice((1, -1))
            row = f'{name},{size_kb},"{us(ns)}\t"'
            totals = f"{total_mb},{21084},{total_mb}"
            if rng.random() < 0.93:
                held = rng.randint(1000, 10**9)
                release = ns + held
                row += (f',"{us(release)}\t","{us(release - 500)}\t","{us(held)}\t","{us(held - 500)}\t",'
                        f'{totals},{totals},6,NPU:{rank % 8}')
            else:
                row += f",,,,,{totals},,,,6,NPU:{rank % 8}"
            stream.write(row + "\r\n")


def write_rank(folder, rank, role, megabytes, seed):
    """Write one capture; (events, records)."""
    rng = random.Random(f"{seed}/{role}/{rank}")
    output = os.path.join(folder, "ASCEND_PROFILER_OUTPUT")
    os.makedirs(output, exist_ok=True)
    info = {"config": {"common_config": {"with_stack": True, "record_shapes": True}}, "rank_id": rank}
    for name, content in ((f"profiler_info_{rank}.json", info), ("profiler_metadata.json", {"role": role})):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as stream:
            json.dump(content, stream)
    trace = TraceWriter(rng, 1755143611835441990 + rank * 1000)
    events = trace.write(os.path.join(output, "trace_view.json"), int(megabytes * 1e6))
    allocations = trace.allocations
    for _ in range(len(allocations) // 50):
        allocations.append((rng.choice(OPS[-2:]), trace.t - rng.randint(0, 10**9)))
    allocations.sort(key=lambda a: a[1])
    write_table(os.path.join(output, "operator_memory.csv"), rng, allocations, rank)
    return events, len(allocations)


def main():
    parser = argparse.ArgumentParser(description="Write captures with traces of any size.")
    parser.add_argument("out")
    parser.add_argument("--roles", default="actor_update,ref_compute_log_prob")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--mb", type=float, default=5, help="size of each rank's trace, 10^6 bytes")
    parser.add_argument("--seed", default="1")
    arguments = parser.parse_args()
    for role in arguments.roles.split(","):
        for rank in range(arguments.ranks):
            name = f"host{rank // 8}_{139247 + rank}_20260628101435{rank:03d}_ascend_pt"
            counts = write_rank(os.path.join(arguments.out, role, name), rank, role, arguments.mb, arguments.seed)
            print(role, rank, *counts)


if __name__ == "__main__":
    main()
