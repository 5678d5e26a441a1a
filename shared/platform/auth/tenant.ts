/** What a tenant is called: part of keys, so it holds nothing that could reach into another's. */
export const tenantPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/
