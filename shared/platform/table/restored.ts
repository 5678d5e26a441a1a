/** The mark of a table that went back to an earlier time, with the time of the restore. */
export const restoredKey = { pk: 'restored', sk: 'restored' }
