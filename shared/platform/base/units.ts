/** The read and write units that work consumed of the table, as DynamoDB reports and bills them. */
export interface Units {
  read: number
  write: number
}

export function noUnits(): Units {
  return { read: 0, write: 0 }
}
