/**
 * The pattern of all possible tenant names. Names are part of keys, so they cannot contain the separators of keys.
 * It has its own file because an import of the register would add all schemas to the bundles of functions.
 */
export const tenantPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
