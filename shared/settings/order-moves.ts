/**
 * The received events that move an order, with the status that each announces. A profile decides from which statuses.
 * A new one is a line here, and its handler in shared/webhooks/received-events.ts.
 */
export const announcedStatuses = {
  'order.paid': 'paid',
} as const

export type OrderMove = keyof typeof announcedStatuses
