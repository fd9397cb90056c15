-- Merged projects: where a name leads, what a merge moved, so that it can be taken back.

alter table namespace add column merged_into txt; -- the namespace that this name stands for
alter table namespace add column takes_from txt; -- while memories move between the two: reads cover both

create table project_merge (
    library_id txt not null,
    id txt not null,
    from_id txt not null,
    into_id txt not null,
    actor_id txt not null,
    at bigint not null,
    state txt not null, -- merging, merged, unmerging
    primary key (library_id, id)
);
create index project_merge_into on project_merge (library_id, into_id);

create table merge_memory (
    library_id txt not null,
    memory_id txt not null,
    merge_id txt not null,
    is_moved integer not null, -- 0: it was there and only gave its topic key away
    was_key txt,
    new_key txt,
    primary key (library_id, memory_id, merge_id),
    foreign key (library_id, memory_id) references memory (library_id, id) on delete cascade
        deferrable initially deferred
);
create index merge_memory_merge on merge_memory (library_id, merge_id, memory_id);

create table merge_session (
    library_id txt not null,
    merge_id txt not null,
    session_id txt not null,
    primary key (library_id, merge_id, session_id)
);
