-- What the neural family keeps: comparisons that are due, reflection tasks, webhooks and what they could not deliver.

create table uncompared (
    library_id text not null,
    memory_id text not null,
    since integer not null,
    primary key (library_id, memory_id) -- no foreign key: who writes it holds chunks and must wait for no memory
) strict, without rowid;

create table reflection (
    library_id text not null,
    id text not null,
    namespace_id text not null,
    actor_id text not null,
    type text not null,
    evidence text not null, -- JSON list of memory ids
    made_at integer not null,
    lease_until integer not null,
    done_at integer, -- an insight was stored, or there was none
    primary key (library_id, id),
    foreign key (library_id, namespace_id) references namespace (library_id, id) deferrable initially deferred
) strict, without rowid;
create index reflection_recent on reflection (library_id, namespace_id, type, made_at);

create table webhook (
    library_id text not null,
    id text not null,
    namespace_id text, -- none: the whole library
    actor_id text not null, -- its maker: it stops when the role is lost
    url blob not null, -- encrypted with the server's key, as is the secret
    host text not null, -- scheme and host: what lists and logs may show
    secret blob not null,
    events text not null, -- JSON list
    description text not null default '',
    created_at integer not null,
    is_active integer not null default 1,
    after_seq integer not null, -- the last event that was settled
    attempts integer not null default 0, -- of the next one
    failing_since integer,
    due_at integer not null default 0,
    dead_letters integer not null default 0, -- in a row
    last_status text,
    last_delivered_at integer,
    seal blob not null,
    primary key (library_id, id)
) strict, without rowid;

create table delivery ( -- dead letters
    library_id text not null,
    webhook_id text not null,
    seq integer not null,
    part integer not null default 0, -- an event may make several deliveries
    event text not null,
    body text not null, -- ids, types and counts
    status text not null,
    at integer not null,
    primary key (library_id, webhook_id, seq, part),
    foreign key (library_id, webhook_id) references webhook (library_id, id) on delete cascade
        deferrable initially deferred
) strict, without rowid;

create index memory_decays on memory (library_id, namespace_id, id) where decays = 1 and archived_at is null;
create index memory_standing on memory (library_id, kind)
    where kind in ('preference', 'instruction') and archived_at is null;
create index memory_concept on memory (library_id, namespace_id, concept) where concept <> '';
create index link_open on link (library_id, created_at) where relation = 'contradicts' and settled_at is null;
