/** A function that AWS invokes for something other than a request. */
export interface Subscription {
  name: string
  folder: string
  /** What feeds it. */
  source: 'table.stream'
  uses: readonly 'bus.publish'[]
  /** What people lose when it fails, in a sentence: the text of its alarm. */
  breaks: string
}

export const subscriptions: readonly Subscription[] = [
  {
    name: 'events.relay',
    folder: 'platform/relay-events',
    source: 'table.stream',
    uses: ['bus.publish'],
    breaks: 'Nothing that happens in the service reaches its subscribers.',
  },
]
