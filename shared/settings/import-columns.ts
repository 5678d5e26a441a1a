/** The columns that an import of codes requires. */
export const importColumns = ['code', 'type', 'name', 'expiry_at'] as const
