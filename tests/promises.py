"""What we promise, where it is written, and the test that holds it. Enforced both ways by test_promises.py."""

from __future__ import annotations

TOOLS = "tests/tools/test_mem.py"
CONTRACT = "tests/tools/test_contract.py"

PROMISES: dict[str, tuple[str, str]] = {
    # tool or behaviour: (source, test)
    "mem_save": ("mem.md, Saving", f"{TOOLS}::test_first_lines_are_exact"),
    "mem_search": ("mem.md, Finding", "tests/engine/test_search.py::test_a_note_is_found_in_other_words"),
    "mem_context": ("mem.md, Finding", f"{TOOLS}::test_context_stays_within_its_budget"),
    "mem_session_summary": ("mem.md, Sessions", "tests/engine/test_sessions.py::test_a_session_has_one_summary_which_a_second_call_revises"),
    "mem_session_start": ("mem.md, Sessions", "tests/engine/test_sessions.py::test_a_session_idle_for_a_day_reads_as_ended_and_is_reopened"),
    "mem_session_end": ("mem.md, Sessions", "tests/engine/test_sessions.py::test_ending_again_without_a_summary_keeps_the_earlier_one"),
    "mem_get_observation": ("mem.md, Finding", f"{TOOLS}::test_parts_of_a_long_text_are_read_by_offset"),
    "mem_suggest_topic_key": ("mem.md, Saving", "tests/rules/test_topics.py::test_a_suggested_key_is_a_key"),
    "mem_capture_passive": ("mem.md, Saving", "tests/engine/test_sessions.py::test_a_capture_is_one_event_and_each_learning_once_per_project"),
    "mem_save_prompt": ("mem.md, Saving", "tests/engine/test_sessions.py::test_prompts_are_the_persons_own_and_stay_out_of_search"),
    "mem_update": ("mem.md, Saving", "tests/engine/test_update.py::test_only_what_is_given_changes_and_the_earlier_text_stays"),
    "mem_delete": ("mem.md, Admin", "tests/engine/test_ledger.py::test_a_hard_delete_leaves_no_row_and_no_text_in_any_table"),
    "mem_stats": ("mem.md, Admin", f"{TOOLS}::test_statistics_count_what_is_there"),
    "mem_timeline": ("mem.md, Admin", f"{TOOLS}::test_a_timeline_shows_neighbours_and_totals"),
    "an acknowledged save survives kill -9": ("common.md, Durability", "tests/test_durability.py::test_every_acknowledged_save_is_found_after_kills"),
    "a crash leaves the state before or after": ("issue Core, Faults", "tests/test_atomic.py::test_a_failure_at_any_statement_leaves_the_state_before"),
    "no role reads as not found": ("common.md, Roles", f"{TOOLS}::test_a_stranger_learns_nothing"),
    "one event for each writing verb": ("design.md, 1", f"{TOOLS}::test_a_writer_leaves_one_event_and_a_reader_none"),
    "limits are inclusive": ("common.md, Calling", f"{CONTRACT}::test_a_value_at_its_limit_is_taken"),
    "a wrong type is `invalid`": ("common.md, Calling", f"{CONTRACT}::test_a_value_of_the_wrong_type_is_refused"),
    "null is absent": ("common.md, Calling", f"{CONTRACT}::test_null_is_absent"),
    "stored text is data": ("common.md, Answering", f"{CONTRACT}::test_hostile_text_can_not_leave_its_fence_in_any_tool"),
    "every refusal has a hint": ("common.md, Answering", f"{CONTRACT}::test_every_refusal_ends_with_a_hint_and_hides_secrets"),
    "a reader causes no write": ("common.md, Roles", f"{CONTRACT}::test_a_reader_writes_nothing"),
    "cost does not follow what is stored": ("style.md, Tests", f"{CONTRACT}::test_readers_need_no_more_statements_for_300_memories_than_for_10"),
    "a budget is that of the whole answer": ("mem.md, Finding", f"{CONTRACT}::test_the_budget_of_context_holds_with_everything_that_is_said_beside_it"),
    "the same answers on every transport": ("common.md, Calling", "tests/surfaces/test_session.py::test_every_transport_saves_finds_and_reads_alike"),
    "bounded statements": ("style.md, Tests", f"{TOOLS}::test_a_tool_keeps_its_statement_budget_however_many_rows_there_are"),
    "both backends agree": ("design.md, 1", "tests/test_congruence.py::test_both_backends_answer_alike"),
    "commit ids are Git's": ("team.md, Objects", "tests/engine/test_update.py::test_commit_ids_are_those_that_git_computes"),
    "rows are sealed": ("design.md, 2", "tests/engine/test_ledger.py::test_every_sealed_row_has_the_seal_of_its_values"),
    "old databases open": ("issue Core, Must show 6", "tests/test_schema.py::test_a_database_of_every_schema_version_opens"),
    "the gate holds for prompts and resources": ("common.md, Roles", "tests/surfaces/test_resources.py::test_a_strangers_reading_runs_the_same_statements_as_for_what_is_not_there"),
    "the model belongs to the database": ("common.md, Settings", "tests/engine/test_models.py::test_a_new_database_takes_the_model_of_the_environment_and_keeps_it"),
    "two models are never compared": ("common.md, Similarity", "tests/engine/test_models.py::test_vectors_of_two_models_are_never_compared"),
    "one process embeds for a database": ("design.md, 7", "tests/test_one_embedder.py::test_of_two_processes_one_embeds_for_both"),
    "a key is shown nowhere": ("common.md, Redaction", "tests/embed/test_remote.py::test_the_key_and_the_answer_are_in_no_error_log_or_repr"),
    "layers": ("design.md, 3", "tests/test_layers.py::test_a_module_imports_only_from_its_own_row_and_below"),
}  # fmt: skip
