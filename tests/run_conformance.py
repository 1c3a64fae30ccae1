"""Run the conformance kit against fresh Doormen, several side by side.

    scripts/conformance [SUITE ...] [--jobs N] [--update] [--kubectl PATH] [--etcd-members N] [--attached]

Each suite gets a Doorman of its own on a free port with no nodes. Prints passes and failures per suite. Fails when a
case that is listed in tests/conformance-passing.txt fails; --update lists what passes now.

With --etcd-members each Doorman keeps everything in an etcd of its own with so many members (--etcd: with one). With
--attached it runs no components itself: scheduler and controllers are processes of their own.

The suite `corpus` replays recorded requests. Of each group at least as many must pass as tests/corpus-passing.json
says; --update raises the numbers.
"""

import argparse
import concurrent.futures
import contextlib
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from support.attached import Attached  # noqa: E402
from support.etcd import etcd_cluster  # noqa: E402

KIT = ROOT / "tests" / "conformance"
PASSING = ROOT / "tests" / "conformance-passing.txt"
CORPUS = "corpus"
CORPUS_PASSING = ROOT / "tests" / "corpus-passing.json"
CORPUS_FLAGS = ["--controllers=-job-controller", "--disable-admission-plugins=TaintRecord"]
LIFECYCLE_FLAGS = [
    "--node-monitor-grace-period=6s", "--node-monitor-period=1s", "--node-startup-grace-period=12s",
    "--node-eviction-rate=0.25",
    "--secondary-node-eviction-rate=0.125", "--large-cluster-size-threshold=4", "--unhealthy-zone-threshold=0.55",
]  # fmt: skip


UNLIMITED = ["--kube-api-qps=0"]


def run_suite(suite: str, options: argparse.Namespace) -> list[dict]:
    cases = KIT / "cases" / (suite if (KIT / "cases" / suite).is_dir() else f"{suite}.json")
    command = [str(KIT / "kit"), "--kubectl", options.kubectl, "--only", options.only, str(cases)]
    members = options.etcd_members or int(options.etcd)
    return against_a_doorman(suite, LIFECYCLE_FLAGS, command, etcd_members=members, is_attached=options.attached)


def run_corpus() -> dict:
    return against_a_doorman(CORPUS, CORPUS_FLAGS, [str(KIT / "corpus-replay"), str(KIT / CORPUS)])


def against_a_doorman(
    suite: str, more_flags: list[str], command: list[str], *, etcd_members: int = 0, is_attached: bool = False
):
    """What a command of the kit wrote as its results, run against a fresh Doorman."""
    with contextlib.ExitStack() as stack:
        scratch = stack.enter_context(tempfile.TemporaryDirectory())
        kubeconfig, out = f"{scratch}/kubeconfig", pathlib.Path(scratch) / "results.json"
        place = ["--in-memory"]
        if etcd_members:
            urls = stack.enter_context(etcd_cluster(pathlib.Path(scratch), etcd_members, "--unsafe-no-fsync"))
            place = ["--etcd-servers", urls, "--data-dir", f"{scratch}/data"]
        own = ["--components=false"] if is_attached else ["--nodes", "0", *more_flags]
        flags = [*place, "--secure-port", "0", "--kubeconfig-out", kubeconfig, *own]
        server = subprocess.Popen(
            [sys.executable, "-m", "doorman", "up", *flags], stdout=subprocess.PIPE, text=True, stderr=sys.stderr
        )
        try:
            line = server.stdout.readline()
            if not line.startswith("ready "):
                raise SystemExit(f"{suite}: Doorman did not start: {line!r}")
            if is_attached:
                stack.enter_context(Attached("controllers", pathlib.Path(kubeconfig), *UNLIMITED, *more_flags))
                stack.enter_context(Attached("scheduler", pathlib.Path(kubeconfig), *UNLIMITED))
            whole = [sys.executable, *command, "--kubeconfig", kubeconfig, "--json", str(out)]
            log = subprocess.run(whole, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False).stdout
            if not out.exists():
                raise SystemExit(f"{suite}: the kit did not finish:\n{log}")
            return json.loads(out.read_text())
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(10)


def judge_corpus(found: dict, *, update: bool) -> bool:
    """Whether no group passes less than it did."""
    known = json.loads(CORPUS_PASSING.read_text()) if CORPUS_PASSING.exists() else {}
    passed, total = found["passed"], found["total"]
    for group in sorted(total):
        print(f"{CORPUS} {group}: {passed.get(group, 0)} of {total[group]}")
    print(f"{CORPUS}: {sum(passed.values())} of {sum(total.values())} passed", flush=True)
    lost = [group for group, number in known.items() if passed.get(group, 0) < number]
    for group in lost:
        print(f"REGRESSION {CORPUS} {group}: {passed.get(group, 0)} passed, {known[group]} before")
    if update:
        best = {group: max(passed.get(group, 0), known.get(group, 0)) for group in sorted(total)}
        CORPUS_PASSING.write_text(json.dumps(best, indent=1) + "\n")
    return not lost


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suites", nargs="*")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--update", action="store_true", help="list what passes now in tests/conformance-passing.txt")
    parser.add_argument("--kubectl", default="kubectl")
    parser.add_argument("--etcd", action="store_true", help="keep everything in etcd")
    parser.add_argument("--etcd-members", type=int, default=0, help="keep everything in an etcd of so many members")
    parser.add_argument("--attached", action="store_true", help="run components as processes of their own")
    parser.add_argument("--only", default="", help="run the cases whose title contains this text")
    parser.add_argument("--errors", action="store_true", help="print why each case failed")
    options = parser.parse_args()
    every = sorted(p.name.removesuffix(".json") for p in (KIT / "cases").iterdir() if p.suffix != ".jsonl")
    suites = options.suites or [*every, CORPUS]
    is_corpus_kept = CORPUS not in suites or judge_corpus(run_corpus(), update=options.update)
    suites = [suite for suite in suites if suite != CORPUS]
    if not suites:
        return 0 if is_corpus_kept else 1
    if shutil.which(options.kubectl) is None:
        print(f"no kubectl: {sum(s in ('kubectl', 'smoke') for s in suites)} suites that need it are left out")
        suites = [suite for suite in suites if suite not in ("kubectl", "smoke")]
    known = set(PASSING.read_text().splitlines()) if PASSING.exists() else set()
    passed: set[str] = set()
    failed: dict[str, str] = {}
    # The longest first, so that the others run beside it.
    order = sorted(suites, key=lambda s: (s != "lifecycle", s != "daemonset", s != "device", s != "eviction", s))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for suite, results in zip(order, pool.map(lambda s: run_suite(s, options), order), strict=True):
            good = {r["case"] for r in results if r["passed"]}
            bad = {r["case"]: r["error"] for r in results if not r["passed"]}
            passed |= good
            failed |= bad
            print(f"{suite}: {len(good)} passed, {len(bad)} failed", flush=True)
            for title, error in bad.items():
                print(f"  failed: {title}" + (f"\n    {error}" if options.errors else ""))
    lost = sorted(known & failed.keys())
    for title in lost:
        print(f"REGRESSION {title}\n  {failed[title]}")
    if options.update:
        PASSING.write_text("".join(f"{title}\n" for title in sorted((known | passed) - failed.keys())))
    print(f"conformance: {len(passed)} passed, {len(failed)} failed, of which {len(lost)} passed before")
    return 1 if lost or not passed or not is_corpus_kept else 0


if __name__ == "__main__":
    sys.exit(main())
