-- What the neural family keeps: comparisons that are due, reflection tasks, webhooks and what they could not deliver.

create table uncompared (
    library_id txt not null,
    memory_id txt not null,
    since bigint not null,
    primary key (library_id, memory_id) -- no foreign key: who writes it holds chunks and must wait for no memory
);

create table reflection (
    library_id txt not null,
    id txt not null,
    namespace_id txt not null,
    actor_id txt not null,
    type txt not null,
    evidence txt not null, -- JSON list of memory ids
    made_at bigint not null,
    lease_until bigint not null,
    done_at bigint, -- an insight was stored, or there was none
    primary key (library_id, id),
    foreign key (library_id, namespace_id) references namespace (library_id, id) deferrable initially deferred
);
create index reflection_recent on reflection (library_id, namespace_id, type, made_at);

create table webhook (
    library_id txt not null,
    id txt not null,
    namespace_id txt, -- none: the whole library
    actor_id txt not null, -- its maker: it stops when the role is lost
    url bytea not null, -- encrypted with the server's key, as is the secret
    host txt not null, -- scheme and host: what lists and logs may show
    secret bytea not null,
    events txt not null, -- JSON list
    description txt not null default '',
    created_at bigint not null,
    is_active integer not null default 1,
    after_seq bigint not null, -- the last event that was settled
    attempts integer not null default 0, -- of the next one
    failing_since bigint,
    due_at bigint not null default 0,
    dead_letters integer not null default 0, -- in a row
    last_status txt,
    last_delivered_at bigint,
    seal bytea not null,
    primary key (library_id, id)
);

create table delivery ( -- dead letters
    library_id txt not null,
    webhook_id txt not null,
    seq bigint not null,
    part integer not null default 0, -- an event may make several deliveries
    event txt not null,
    body txt not null, -- ids, types and counts
    status txt not null,
    at bigint not null,
    primary key (library_id, webhook_id, seq, part),
    foreign key (library_id, webhook_id) references webhook (library_id, id) on delete cascade
        deferrable initially deferred
);

create index memory_decays on memory (library_id, namespace_id, id) where decays = 1 and archived_at is null;
create index memory_standing on memory (library_id, kind)
    where kind in ('preference', 'instruction') and archived_at is null;
create index memory_concept on memory (library_id, namespace_id, concept) where concept <> '';
create index link_open on link (library_id, created_at) where relation = 'contradicts' and settled_at is null;
