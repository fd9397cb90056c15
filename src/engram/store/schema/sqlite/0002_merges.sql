-- Merged projects: where a name leads, what a merge moved, so that it can be taken back.

alter table namespace add column merged_into text; -- the namespace that this name stands for
alter table namespace add column takes_from text; -- while memories move between the two: reads cover both

create table project_merge (
    library_id text not null,
    id text not null,
    from_id text not null,
    into_id text not null,
    actor_id text not null,
    at integer not null,
    state text not null, -- merging, merged, unmerging
    primary key (library_id, id)
) strict, without rowid;
create index project_merge_into on project_merge (library_id, into_id);

create table merge_memory (
    library_id text not null,
    memory_id text not null,
    merge_id text not null,
    is_moved integer not null, -- 0: it was there and only gave its topic key away
    was_key text,
    new_key text,
    primary key (library_id, memory_id, merge_id),
    foreign key (library_id, memory_id) references memory (library_id, id) on delete cascade
        deferrable initially deferred
) strict, without rowid;
create index merge_memory_merge on merge_memory (library_id, merge_id, memory_id);

create table merge_session (
    library_id text not null,
    merge_id text not null,
    session_id text not null,
    primary key (library_id, merge_id, session_id)
) strict, without rowid;
