/** The pattern of all possible tenant names. Names are part of keys, so they cannot contain the separators of keys. */
export const tenantPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/** The most shards of a tenant. An id could name 256. More than 64 would exceed what one table takes (docs/scaling.md). */
export const maxShards = 64
