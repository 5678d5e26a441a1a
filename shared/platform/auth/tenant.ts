/** Every name that a tenant can have. Names are part of keys, so none can hold a separator of these. */
export const tenantPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
