let tenants = 0

/** Returns a tenant that no other test of the file uses. */
export const uniqueTenant = (name = 'tenant') => `${name}-${tenants++}`
