"""Known holes in the packages of an environment, by pip-audit; `make audit`.

    python scripts/audit.py .venv-audit/bin/pip-audit .venv/lib/python3.11/site-packages

pip-audit ends with 0 where its source of advisories cannot be reached and nothing was looked at.
This does not: 0 nothing known, 1 holes, 2 nothing could be audited.
"""

from __future__ import annotations

import json
import subprocess
import sys


def main() -> int:
    tool, packages, *options = sys.argv[1:]
    command = [tool, "--path", packages, "--format", "json", "--progress-spinner", "off", *options]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        found = json.loads(ended.stdout)["dependencies"]
    except (ValueError, KeyError):
        print(f"{tool}: no report: {ended.stderr.strip()[-400:]}", file=sys.stderr)
        return 2
    skipped = [entry["name"] for entry in found if "skip_reason" in entry]
    audited = len(found) - len(skipped)
    holes = [(entry, hole) for entry in found for hole in entry.get("vulns", ())]
    for entry, hole in holes:
        mended = ", ".join(hole["fix_versions"]) or "none yet"
        print(f"{entry['name']} {entry['version']}: {hole['id']}; mended in {mended}")
    print(f"{audited} packages audited, {len(holes)} known holes, {len(skipped)} not audited")
    if not audited:
        print(
            "the source of advisories knows none of these packages or cannot be reached: nothing "
            "was shown; try ARGS='--vulnerability-service osv'",
            file=sys.stderr,
        )
        return 2
    if skipped:
        print(f"not audited: {', '.join(skipped)}")
    return 1 if holes else 0


if __name__ == "__main__":
    sys.exit(main())
