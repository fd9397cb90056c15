-- The engine's tables on SQLite. Times are milliseconds UTC; text is compared bytewise (the default collation).

create table setting (
    name text primary key,
    value text not null
) strict, without rowid;

create table actor (
    id text primary key,
    name text not null,
    email text not null default '',
    email_folded text not null default '',
    is_operator integer not null default 0,
    created_at integer not null,
    disabled_at integer,
    seal blob not null
) strict, without rowid;
create unique index actor_email on actor (email_folded) where email_folded <> '';

create table library (
    id text primary key,
    owner_id text not null references actor (id),
    made_by text not null,
    name text not null,
    folded text not null,
    description text not null default '',
    audit text not null default 'on',
    created_at integer not null,
    archived_at integer,
    erase_at integer,
    seq integer not null default 0,
    number integer not null default 0,
    leaves integer not null default 0,
    live integer not null default 0,
    acc integer not null default 0,
    seal blob not null
) strict, without rowid;
create unique index library_name on library (owner_id, folded) where archived_at is null;

create table token (
    id text primary key,
    actor_id text not null references actor (id),
    name text not null,
    scope text not null,
    library_id text references library (id),
    role integer not null,
    hash blob not null unique,
    made_by text,
    created_at integer not null,
    expires_at integer,
    revoked_at integer,
    used_at integer,
    seal blob not null
) strict, without rowid;
create index token_actor on token (actor_id);

create table access_group (
    id text primary key,
    name text not null,
    description text not null default '',
    created_at integer not null,
    seal blob not null
) strict, without rowid;

create table group_member (
    group_id text not null references access_group (id) on delete cascade,
    email_folded text not null,
    email text not null,
    added_at integer not null,
    seal blob not null,
    primary key (group_id, email_folded)
) strict, without rowid;
create index group_member_email on group_member (email_folded);

create table group_owner (
    group_id text not null references access_group (id) on delete cascade,
    actor_id text not null references actor (id),
    seal blob not null,
    primary key (group_id, actor_id)
) strict, without rowid;

create table access_grant (
    library_id text not null references library (id),
    group_id text not null references access_group (id) on delete cascade,
    role integer not null,
    granted_by text not null,
    granted_at integer not null,
    seal blob not null,
    primary key (library_id, group_id)
) strict, without rowid;
create index access_grant_group on access_grant (group_id);

create table follow (
    actor_id text not null references actor (id),
    library_id text not null,
    primary key (actor_id, library_id)
) strict, without rowid;

create table namespace (
    library_id text not null,
    id text not null,
    name text not null,
    folded text not null,
    description text not null default '',
    created_at integer not null,
    archived_at integer,
    erase_at integer,
    primary key (library_id, id)
) strict, without rowid;
create unique index namespace_name on namespace (library_id, folded) where archived_at is null;

create table session (
    library_id text not null,
    id text not null,
    namespace_id text not null,
    actor_id text not null,
    token_id text not null default '',
    name text not null,
    directory text not null default '',
    started_at integer not null,
    active_at integer not null,
    ended_at integer,
    summary text not null default '',
    primary key (library_id, id),
    unique (library_id, actor_id, name)
) strict, without rowid;
create index session_recent on session (library_id, namespace_id, active_at);

create table memory (
    library_id text not null,
    id text not null,
    number integer not null,
    namespace_id text not null,
    session_id text,
    kind text not null,
    memory_type text not null,
    type_given integer not null,
    title text not null,
    body text not null,
    format text not null,
    concept text not null,
    topic_key text,
    scope text not null,
    importance real not null,
    confidence real not null,
    source text not null,
    author_id text not null,
    trigger_pattern text not null,
    action_pattern text not null,
    content_hash text not null,
    same_hash text not null,
    salt blob not null,
    revision integer not null,
    decays integer not null,
    event_at integer,
    valid_from integer,
    valid_to integer,
    created_at integer not null,
    updated_at integer not null,
    archived_at integer,
    archived_why text,
    erase_at integer,
    head_sha text,
    seal blob not null,
    primary key (library_id, id),
    foreign key (library_id, namespace_id) references namespace (library_id, id) deferrable initially deferred,
    foreign key (library_id, session_id) references session (library_id, id) deferrable initially deferred
) strict;
create unique index memory_number on memory (library_id, number);
create unique index memory_topic on memory (library_id, namespace_id, scope, topic_key)
    where topic_key is not null and archived_at is null;
create index memory_same on memory (library_id, namespace_id, same_hash);
create index memory_recent on memory (library_id, namespace_id, created_at, number);
create index memory_session on memory (library_id, session_id, coalesce(event_at, created_at), number);

create table version (
    library_id text not null,
    memory_id text not null,
    n integer not null,
    commit_sha text not null,
    parent_sha text,
    author_id text not null,
    message text not null,
    at integer not null,
    title text not null,
    body text,
    kind text not null,
    salt blob not null,
    seal blob not null,
    primary key (library_id, memory_id, n),
    unique (library_id, memory_id, commit_sha),
    foreign key (library_id, memory_id) references memory (library_id, id) on delete cascade
        deferrable initially deferred
) strict;

create table link (
    library_id text not null,
    from_id text not null,
    to_id text not null,
    to_library_id text not null,
    relation text not null,
    weight real not null,
    created_by text not null,
    created_at integer not null,
    note text not null default '',
    settled_at integer,
    seal blob not null,
    primary key (library_id, from_id, to_id, relation),
    foreign key (library_id, from_id) references memory (library_id, id) on delete cascade
        deferrable initially deferred,
    foreign key (to_library_id, to_id) references memory (library_id, id) on delete cascade
        deferrable initially deferred
) strict, without rowid;
create index link_to on link (to_library_id, to_id);

create table tag (
    library_id text not null,
    memory_id text not null,
    folded text not null,
    tag text not null,
    primary key (library_id, memory_id, folded),
    foreign key (library_id, memory_id) references memory (library_id, id) on delete cascade
        deferrable initially deferred
) strict, without rowid;
create index tag_folded on tag (library_id, folded);

create table usage (
    library_id text not null,
    memory_id text not null,
    uses integer not null default 0,
    used_at integer,
    duplicates integer not null default 1,
    seen_at integer,
    primary key (library_id, memory_id),
    foreign key (library_id, memory_id) references memory (library_id, id) on delete cascade
        deferrable initially deferred
) strict, without rowid;

create table event (
    library_id text not null,
    seq integer not null,
    leaf_index integer,
    at integer not null,
    actor_id text not null,
    token_id text not null,
    verb text not null,
    target text not null,
    detail text not null,
    leaf_hash blob,
    primary key (library_id, seq)
) strict, without rowid;

create table job (
    kind text not null,
    key text not null,
    due_at integer not null,
    lease_by text,
    lease_until integer,
    attempts integer not null default 0,
    last_error text,
    primary key (kind, key)
) strict, without rowid;
create index job_due on job (due_at);

-- Derived: rebuilt from the memories by one command.

create table model (
    id integer primary key,
    name text not null unique,
    dim integer not null
) strict;

create table chunk (
    id integer primary key autoincrement,
    library_id text not null,
    memory_id text not null,
    position integer not null,
    first_char integer not null,
    last_char integer not null,
    length real not null,
    flags integer not null,
    terms text not null,
    foreign key (library_id, memory_id) references memory (library_id, id) on delete cascade
        deferrable initially deferred
) strict;
create index chunk_memory on chunk (library_id, memory_id, position);

create virtual table words using fts5 (
    title, body, keys, scope,
    content = '', contentless_delete = 1,
    tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* Co'"
);

create table chunk_vector (
    chunk_id integer not null references chunk (id) on delete cascade deferrable initially deferred,
    model integer not null references model (id),
    library_id text not null,
    namespace_id text not null,
    place text not null,
    kind text not null,
    memory_type text not null,
    rev integer not null,
    v blob not null,
    unique (chunk_id, model)
) strict;
create index chunk_vector_rev on chunk_vector (library_id, model, rev);

create table pending (
    chunk_id integer primary key references chunk (id) on delete cascade deferrable initially deferred,
    library_id text not null,
    since integer not null
) strict;

create table clock (one integer primary key check (one = 1), rev integer not null) strict;
insert into clock (one, rev) values (1, 0);

create table gone (rev integer not null, chunk_id integer not null, primary key (rev, chunk_id)) strict, without rowid;
