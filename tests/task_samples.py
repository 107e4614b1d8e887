"""Task files to play with."""

from typing import Any

Json = dict[str, Any]


def plain_task() -> Json:
    """Return the smallest task there is."""
    return {"description": "Make tea.\nHot.", "convergence": {"criteria": ["$ ./kettle --test"]}}


def tdd_task() -> Json:
    """Return a task that says everything a task can say."""
    return {
        "id": "IMPL-7",
        "title": "Calculator",
        "description": "A calculator.\n<files_to_read>\n- docs/style.md\n* `calc.py`\n\n@notes.txt\n</files_to_read>\n",
        "meta": {
            "tdd_workflow": True,
            "max_iterations": 4,
            "tdd_cycles": [
                {
                    "test_count": 2,
                    "test_cases": ["adds", "subtracts"],
                    "implementation_scope": "two functions",
                    "expected_coverage": ">=85%",
                }
            ],
            "shared_context": {
                "tech_stack": ["Python", "pytest"],
                "conventions": {"tests": "plain functions"},
                "empty": [],
            },
        },
        "cli_execution": {"id": "WFS-calc-IMPL-7", "strategy": "fork", "resume_from": "WFS-calc-IMPL-6"},
        "focus_paths": ["calc.py", "./tests"],
        "convergence": {"criteria": ["`pytest -q`", "All cases of `add` pass", "$ pytest -q"]},
        "pre_analysis": [
            {"step": "look", "action": "see what is there", "command": "bash(ls)", "output_to": "layout"},
            "Read(calc.py)",
            {"step": 3, "commands": ["bash(true)", "Read(README.md)"], "on_error": "fail"},
        ],
        "implementation": [
            "Keep it small",
            {
                "step": "1",
                "description": "Red: write failing tests",
                "tdd_phase": "red",
                "actions": ["Create tests/test_calc.py"],
                "modification_points": [
                    "tests/test_calc.py: two cases",
                    {"file": "x", "change": "y", "n": 1},
                ],
                "test_fix_cycle": None,
            },
            {
                "step": 2,
                "description": "Green: implement",
                "tdd_phase": "green",
                "actions": "Implement",
                "modification_points": "calc.py",
                "logic_flow": ["add", "subtract"],
                "test_fix_cycle": {"max_iterations": 5},
            },
            {"step": "3", "description": "Refactor", "tdd_phase": "refactor", "actions": ["Tidy up"]},
        ],
        "depends_on": ["IMPL-6"],
    }


# As the format was first written down, comments included; only what stood for something else is filled in.
SEED_EXAMPLE = """\
{
  "meta": {
    "tdd_workflow": true,              // REQUIRED: Enables TDD mode
    "max_iterations": 3,                // Green phase test-fix cycle limit
    "tdd_cycles": [                     // Test cases and coverage targets
      {
        "test_count": 2,
        "test_cases": ["adds two numbers", "subtracts two numbers"],
        "implementation_scope": "add and subtract in calc.py",
        "expected_coverage": ">=85%"
      }
    ]
  },
  "cli_execution": {                    // CLI execution strategy
    "id": "WFS-calc-IMPL-1",           // CLI session ID for resume
    "strategy": "new",
    "resume_from": "parent-cli-id"      // For resume/fork strategies; array for merge_fork
  },
  "description": "A calculator that adds and subtracts.",                 // Goal + requirements
  "focus_paths": ["calc.py", "tests"],                // Absolute or clear relative paths
  "convergence": {
    "criteria": ["`pytest -q`", "both functions are there"]                   // Test commands for validation
  },
  "pre_analysis": [{"step": "look", "command": "bash(ls)", "on_error": "skip_optional"}],               // Context gathering steps
  "implementation": [                   // Red-Green-Refactor steps (polymorphic: string or object)
    {
      "step": "1",
      "description": "Red Phase: Write failing tests - Write 2 test cases: [adds, subtracts]",
      "tdd_phase": "red",              // REQUIRED: Phase identifier
      "actions": ["Create test files", "Write test cases"],
      "test_fix_cycle": null
    },
    {
      "step": "2",
      "description": "Green Phase: Implement to pass tests - Implement 2 functions",
      "tdd_phase": "green",            // Triggers test-fix cycle
      "actions": ["Implement functions", "Pass tests"],
      "test_fix_cycle": { "max_iterations": 3 }
    },
    {
      "step": "3",
      "description": "Refactor Phase: Improve code quality - Apply 1 refactoring",
      "tdd_phase": "refactor",
      "actions": ["Refactor code", "Verify no regressions"]
    }
  ]
}
"""
