-- The engine's tables on PostgreSQL 15+ with pgvector. Times are milliseconds UTC; text is compared bytewise.

create extension if not exists vector;
create domain txt as text collate "C";

create table setting (
    name txt primary key,
    value txt not null
);

create table actor (
    id txt primary key,
    name txt not null,
    email txt not null default '',
    email_folded txt not null default '',
    is_operator integer not null default 0,
    created_at bigint not null,
    disabled_at bigint,
    seal bytea not null
);
create unique index actor_email on actor (email_folded) where email_folded <> '';

create table library (
    id txt primary key,
    owner_id txt not null references actor (id),
    made_by txt not null,
    name txt not null,
    folded txt not null,
    description txt not null default '',
    audit txt not null default 'on',
    created_at bigint not null,
    archived_at bigint,
    erase_at bigint,
    seq bigint not null default 0,
    number bigint not null default 0,
    leaves bigint not null default 0,
    live bigint not null default 0,
    acc bigint not null default 0,
    seal bytea not null
) with (fillfactor = 20);
create unique index library_name on library (owner_id, folded) where archived_at is null;

create table token (
    id txt primary key,
    actor_id txt not null references actor (id),
    name txt not null,
    scope txt not null,
    library_id txt references library (id),
    role integer not null,
    hash bytea not null unique,
    made_by txt,
    created_at bigint not null,
    expires_at bigint,
    revoked_at bigint,
    used_at bigint,
    seal bytea not null
);
create index token_actor on token (actor_id);

create table access_group (
    id txt primary key,
    name txt not null,
    description txt not null default '',
    created_at bigint not null,
    seal bytea not null
);

create table group_member (
    group_id txt not null references access_group (id) on delete cascade,
    email_folded txt not null,
    email txt not null,
    added_at bigint not null,
    seal bytea not null,
    primary key (group_id, email_folded)
);
create index group_member_email on group_member (email_folded);

create table group_owner (
    group_id txt not null references access_group (id) on delete cascade,
    actor_id txt not null references actor (id),
    seal bytea not null,
    primary key (group_id, actor_id)
);

create table access_grant (
    library_id txt not null references library (id),
    group_id txt not null references access_group (id) on delete cascade,
    role integer not null,
    granted_by txt not null,
    granted_at bigint not null,
    seal bytea not null,
    primary key (library_id, group_id)
);
create index access_grant_group on access_grant (group_id);

create table follow (
    actor_id txt not null references actor (id),
    library_id txt not null,
    primary key (actor_id, library_id)
);

create table namespace (
    library_id txt not null,
    id txt not null,
    name txt not null,
    folded txt not null,
    description txt not null default '',
    created_at bigint not null,
    archived_at bigint,
    erase_at bigint,
    primary key (library_id, id)
);
create unique index namespace_name on namespace (library_id, folded) where archived_at is null;

create table session (
    library_id txt not null,
    id txt not null,
    namespace_id txt not null,
    actor_id txt not null,
    token_id txt not null default '',
    name txt not null,
    directory txt not null default '',
    started_at bigint not null,
    active_at bigint not null,
    ended_at bigint,
    summary txt not null default '',
    primary key (library_id, id),
    unique (library_id, actor_id, name)
);
create index session_recent on session (library_id, namespace_id, active_at);

create table memory (
    library_id txt not null,
    id txt not null,
    number bigint not null,
    namespace_id txt not null,
    session_id txt,
    kind txt not null,
    memory_type txt not null,
    type_given integer not null,
    title txt not null,
    body txt not null,
    format txt not null,
    concept txt not null,
    topic_key txt,
    scope txt not null,
    importance double precision not null,
    confidence double precision not null,
    source txt not null,
    author_id txt not null,
    trigger_pattern txt not null,
    action_pattern txt not null,
    content_hash txt not null,
    same_hash txt not null,
    salt bytea not null,
    revision integer not null,
    decays integer not null,
    event_at bigint,
    valid_from bigint,
    valid_to bigint,
    created_at bigint not null,
    updated_at bigint not null,
    archived_at bigint,
    archived_why txt,
    erase_at bigint,
    head_sha txt,
    seal bytea not null,
    primary key (library_id, id),
    foreign key (library_id, namespace_id) references namespace (library_id, id) deferrable initially deferred,
    foreign key (library_id, session_id) references session (library_id, id) deferrable initially deferred
);
create unique index memory_number on memory (library_id, number);
create unique index memory_topic on memory (library_id, namespace_id, scope, topic_key)
    where topic_key is not null and archived_at is null;
create index memory_same on memory (library_id, namespace_id, same_hash);
create index memory_recent on memory (library_id, namespace_id, created_at, number);
create index memory_session on memory (library_id, session_id, coalesce(event_at, created_at), number);

create table version (
    library_id txt not null,
    memory_id txt not null,
    n integer not null,
    commit_sha txt not null,
    parent_sha txt,
    author_id txt not null,
    message txt not null,
    at bigint not null,
    title txt not null,
    body txt,
    kind txt not null,
    salt bytea not null,
    seal bytea not null,
    primary key (library_id, memory_id, n),
    unique (library_id, memory_id, commit_sha),
    foreign key (library_id, memory_id) references memory (library_id, id) on delete cascade
        deferrable initially deferred
);

create table link (
    library_id txt not null,
    from_id txt not null,
    to_id txt not null,
    to_library_id txt not null,
    relation txt not null,
    weight double precision not null,
    created_by txt not null,
    created_at bigint not null,
    note txt not null default '',
    settled_at bigint,
    seal bytea not null,
    primary key (library_id, from_id, to_id, relation),
    foreign key (library_id, from_id) references memory (library_id, id) on delete cascade
        deferrable initially deferred,
    foreign key (to_library_id, to_id) references memory (library_id, id) on delete cascade
        deferrable initially deferred
);
create index link_to on link (to_library_id, to_id);

create table tag (
    library_id txt not null,
    memory_id txt not null,
    folded txt not null,
    tag txt not null,
    primary key (library_id, memory_id, folded),
    foreign key (library_id, memory_id) references memory (library_id, id) on delete cascade
        deferrable initially deferred
);
create index tag_folded on tag (library_id, folded);

create table usage (
    library_id txt not null,
    memory_id txt not null,
    uses bigint not null default 0,
    used_at bigint,
    duplicates bigint not null default 1,
    seen_at bigint,
    primary key (library_id, memory_id),
    foreign key (library_id, memory_id) references memory (library_id, id) on delete cascade
        deferrable initially deferred
);

create table event (
    library_id txt not null,
    seq bigint not null,
    leaf_index bigint,
    at bigint not null,
    actor_id txt not null,
    token_id txt not null,
    verb txt not null,
    target txt not null,
    detail txt not null,
    leaf_hash bytea,
    primary key (library_id, seq)
);

create table job (
    kind txt not null,
    key txt not null,
    due_at bigint not null,
    lease_by txt,
    lease_until bigint,
    attempts integer not null default 0,
    last_error txt,
    primary key (kind, key)
);
create index job_due on job (due_at);

-- Derived: rebuilt from the memories by one command.

create table model (
    id integer primary key,
    name txt not null unique,
    dim integer not null
);

create table chunk (
    id bigint generated always as identity primary key,
    library_id txt not null,
    memory_id txt not null,
    position integer not null,
    first_char integer not null,
    last_char integer not null,
    length double precision not null,
    flags integer not null,
    terms txt not null,
    foreign key (library_id, memory_id) references memory (library_id, id) on delete cascade
        deferrable initially deferred
);
create index chunk_memory on chunk (library_id, memory_id, position);

create table words (
    chunk_id bigint primary key references chunk (id) on delete cascade deferrable initially deferred,
    length real not null,
    tsv tsvector not null
);
create index words_tsv on words using gin (tsv) with (fastupdate = off);

create table chunk_vector (
    chunk_id bigint not null references chunk (id) on delete cascade deferrable initially deferred,
    model integer not null references model (id),
    library_id txt not null,
    namespace_id txt not null,
    place txt not null,
    kind txt not null,
    memory_type txt not null,
    v halfvec not null,
    unique (chunk_id, model)
);
create index chunk_vector_place on chunk_vector (library_id, model, namespace_id);

create table pending (
    chunk_id bigint primary key references chunk (id) on delete cascade deferrable initially deferred,
    library_id txt not null,
    since bigint not null
);

