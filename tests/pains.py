"""The numbered pains of earlier tools that the core answers, each with the tests that hold the cure.

``go`` numbers are those of the study of the Go memory server, ``peers`` numbers those of the field study. Where a
cure named there differs from our contract, the contract holds.
"""

from __future__ import annotations

ENGINE = "tests/engine"

PAINS: dict[str, tuple[str, ...]] = {
    # Sessions and projects
    "go 1: a save is refused over session bookkeeping": (
        f"{ENGINE}/test_sessions.py::test_an_unknown_id_makes_the_session_and_an_ended_one_takes_saves",
        f"{ENGINE}/test_sessions.py::test_an_id_of_another_project_is_taken_and_keeps_its_project",
    ),
    "go 5: saves land in the manual bucket while a hook's session stays empty": (
        f"{ENGINE}/test_sessions.py::test_the_last_active_open_session_is_guessed_and_the_same_folder_preferred",
    ),
    "go 11: a folder above several repositories makes every write fail": (
        "tests/test_pain_cases.py::test_a_folder_above_several_repositories_saves",
    ),
    "go 12: a worktree is a project of its own": (
        "tests/engine/test_projects.py::test_linked_work_trees_agree_with_the_main_one",
    ),
    "go 15: personal memories are hidden by the project filter": (
        f"{ENGINE}/test_search.py::test_personal_memories_are_found_in_every_project",
    ),
    "go 16: no search over all projects": (f"{ENGINE}/test_search.py::test_all_projects_on_request",),
    # Search and its cost
    "go 18: many words find nothing": (f"{ENGINE}/test_search.py::test_a_long_question_is_no_conjunction",),
    "go 19: old matches bury the new": (f"{ENGINE}/test_search.py::test_the_newer_of_two_equal_notes_comes_first",),
    "go 20: a title weighs no more than a mention": (
        f"{ENGINE}/test_search.py::test_a_title_weighs_more_than_a_mention",
    ),
    "go 21: no search by meaning": (f"{ENGINE}/test_search.py::test_a_note_is_found_in_other_words",),
    "go 22: context floods the window": ("tests/tools/test_mem.py::test_context_stays_within_its_budget",),
    "go 23: each hit is rendered twice": ("tests/test_pain_cases.py::test_an_answer_is_said_once",),
    "go 24: whole bodies are read to show a preview": (
        "tests/test_pain_cases.py::test_a_search_reads_the_bodies_of_the_hits_it_shows_and_no_others",
    ),
    "go 25: a floor keeps the weak hits and drops the strong": (
        "tests/rules/test_rank.py::test_nothing_is_returned_where_nothing_answers",
        "tests/test_pain_cases.py::test_the_word_index_ranks_the_better_match_first",
    ),
    "go 26: quotes raise errors, camel case and CJK are missed": (
        "tests/tools/test_fuzz.py::test_no_query_brings_an_error_but_the_contracts",
        f"{ENGINE}/test_search.py::test_identifiers_are_found_whole_and_by_their_parts",
        f"{ENGINE}/test_search.py::test_words_of_any_script_are_found",
    ),
    # Loss and corruption
    "go 27: content is cut in silence": (
        f"{ENGINE}/test_remember.py::test_a_saved_text_is_kept_as_it_was_sent",
        "tests/tools/test_mem.py::test_every_limit_is_kept_and_taught",
    ),
    "go 28: a cut splits a character": (
        "tests/rules/test_preview.py::test_a_preview_keeps_its_budget_and_its_line",
        "tests/rules/test_names.py::test_a_cut_never_parts_what_is_seen_as_one",
    ),
    "go 29: a save from the command line is cut and reported as done": (
        "tests/surfaces/test_cli.py::test_text_comes_from_a_file_or_standard_input_whole",
    ),
    "go 35: a network home corrupts the log, and health says ok": (
        "tests/test_doctor.py::test_a_network_file_system_is_refused_before_anything_is_made",
        "tests/store/test_mounts.py::test_the_longest_mount_point_tells_the_type",
        "tests/test_doctor.py::test_rows_that_somebody_else_wrote_are_seen",
    ),
    "go 50: --help runs the command": (
        "tests/surfaces/test_commands.py::test_help_never_has_an_effect",
    ),
    "go 31: a topic's earlier text is destroyed": (
        f"{ENGINE}/test_remember.py::test_the_same_topic_key_revises_and_keeps_the_earlier_text",
    ),
    "go 32: database is locked": ("tests/test_durability.py::test_every_acknowledged_save_is_found_after_kills",),
    "go 33: simultaneous cold starts fail": (
        "tests/test_schema.py::test_processes_that_start_at_once_on_no_database_all_work",
    ),
    "go 34: writes go to a file that was replaced": ("tests/test_schema.py::test_a_replaced_database_is_noticed",),
    "go 36: blank titles are stored": ("tests/test_pain_cases.py::test_blank_titles_are_refused_at_every_door",),
    "go 37: arguments in another shape read as missing": (
        "tests/tools/test_mem.py::test_arguments_are_read_kindly",
    ),
    "go 55: redaction misses fields, nests and unclosed tags": (
        "tests/rules/test_redact.py::test_private_parts_go_however_they_are_written",
        "tests/tools/test_mem.py::test_redaction_is_said_and_nothing_private_is_stored",
        "tests/test_pain_cases.py::test_every_text_field_is_redacted",
    ),
    # The field
    "peers 3: the default file lies inside the package": (
        "tests/test_pain_cases.py::test_the_default_folder_is_the_persons_own",
    ),
    "peers 4: two SQLite libraries in one process": (
        "tests/test_layers.py::test_only_store_contains_sql_and_drivers_and_only_surfaces_start_loops",
    ),
    "peers 11: NUL bytes corrupt the index": ("tests/tools/test_fuzz.py::test_no_query_brings_an_error_but_the_contracts",),
    "peers 15: stale servers outlive their client": ("tests/surfaces/test_stdio.py::test_the_parents_death_ends_the_server_during_a_call",),
    "peers 16: the handshake waits for the model": (
        "tests/test_pain_cases.py::test_the_tools_are_listed_before_model_and_database_are_loaded",
    ),
    "peers 19: the model comes from a hub": ("tests/test_pain_cases.py::test_nothing_is_asked_of_the_network",),
    "peers 22: text beyond the model's window is lost": (
        f"{ENGINE}/test_search.py::test_text_beyond_the_models_window_is_found",
        "tests/rules/test_chunk.py::test_pieces_cover_the_text_and_fit_the_model",
    ),
    "peers 25: punctuation breaks the query": (
        "tests/tools/test_fuzz.py::test_no_query_brings_an_error_but_the_contracts",
    ),
    "peers 5: a damaged database is served on": (
        "tests/test_doctor.py::test_a_damaged_page_is_said_loudly_and_nothing_is_written_over",
        "tests/test_doctor.py::test_what_is_no_database_is_refused_and_left_alone",
        "tests/test_durability.py::test_every_acknowledged_save_is_found_after_kills",
    ),
    "peers 6: locked for days, and nobody knows by whom": (
        "tests/test_doctor.py::test_who_uses_the_database_is_named",
        "tests/test_durability.py::test_every_acknowledged_save_is_found_after_kills",
    ),
    "peers 8: an index that was not loaded is saved over the memories": (
        "tests/test_doctor.py::test_lost_index_entries_are_seen_and_made_anew",
        "tests/test_durability.py::test_every_acknowledged_save_is_found_after_kills",
    ),
    "peers 52: deleted text is still in the files": (
        "tests/test_erasure.py::test_no_byte_is_left_of_what_was_erased",
    ),
    "peers 26: CJK finds nothing": (
        f"{ENGINE}/test_search.py::test_words_of_any_script_are_found",
        "tests/rules/test_analyse.py::test_a_word_is_found_in_the_forms_that_people_write",
    ),
    "peers 28: the same query, another answer": ("tests/tools/test_fuzz.py::test_the_same_call_gives_the_same_answer",),
    "peers 31: noise when nothing matches": (f"{ENGINE}/test_search.py::test_nothing_relevant_is_nothing",),
    "peers 32: near duplicates are dropped": ("tests/test_pain_cases.py::test_texts_that_look_alike_are_all_kept",),
    "peers 33: recalled text is stored again": (
        "tests/tools/test_mem.py::test_stored_text_can_not_pose_as_our_markers",
    ),
    "peers 36: other projects leak in": (f"{ENGINE}/test_search.py::test_no_other_project_leaks_in",),
    "peers 38: schemas that clients refuse": (
        "tests/surfaces/test_session.py::test_the_profiles_list_their_tools_within_their_budget",
    ),
    "peers 40: an unknown argument is refused": (
        "tests/tools/test_mem.py::test_a_call_says_what_it_ignored_and_capped",
    ),
    "peers 42: a stray line on stdout breaks the wire": (
        "tests/surfaces/test_stdio.py::test_every_byte_on_stdout_is_a_message",
    ),
    "peers 44: an emoji under a code page ends the start": (
        "tests/surfaces/test_cli.py::test_any_locale_prints_any_text",
    ),
    "peers 46: local times are taken for UTC": (
        "tests/rules/test_times.py::test_a_time_is_read_and_shown_in_utc",
        "tests/test_pain_cases.py::test_times_are_utc_whatever_the_machines_zone",
    ),
}  # fmt: skip
