/** A message of a queue with its group. */
interface GroupedMessage {
  group: string
  body: string
}

interface Group {
  waiting: { message: GroupedMessage; order: number }[]
  /** The index of the first one that waits. */
  head: number
  inFlight: number
  /** Milliseconds of processing lately: half of them are forgotten each half minute. */
  worked: number
  isNoisy: boolean
}

const halfLifeMilliseconds = 30_000

/**
 * A standard queue of SQS with message groups, as AWS documents it: a group is noisy that has more than a tenth of the messages
 * in flight and at least 30 of them, or more than a tenth of the processing time lately, until it has no backlog. Its messages
 * are delivered after those of quiet groups, and of several noisy groups the one with the fewest messages in flight comes first.
 * Without groups, the oldest message is delivered first.
 * https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-fair-queues-detailed.html
 */
export class DeliveryQueue {
  readonly #groups = new Map<string, Group>()
  readonly #isFair: boolean
  readonly #now: () => number
  #order = 0
  #inFlight = 0
  #worked = 0
  #decayedAt: number

  constructor(isFair: boolean, now: () => number) {
    this.#isFair = isFair
    this.#now = now
    this.#decayedAt = now()
  }

  add(message: GroupedMessage): void {
    this.#order += 1
    this.#groupOf(message).waiting.push({ message, order: this.#order })
  }

  take(most: number): GroupedMessage[] {
    this.#decay()
    const taken: GroupedMessage[] = []
    while (taken.length < most) {
      const group = this.#next()
      if (!group) break
      const { message } = group.waiting[group.head] ?? {}
      if (!message) break
      group.head += 1
      if (group.head === group.waiting.length) Object.assign(group, { waiting: [], head: 0 })
      group.inFlight += 1
      this.#inFlight += 1
      taken.push(message)
    }
    return taken
  }

  /** @param milliseconds how long the batch was processed */
  done(messages: readonly GroupedMessage[], milliseconds: number): void {
    for (const message of messages) {
      const group = this.#groupOf(message)
      group.inFlight -= 1
      group.worked += milliseconds
      this.#inFlight -= 1
      this.#worked += milliseconds
    }
  }

  #groupOf({ group: name }: GroupedMessage): Group {
    const group = this.#groups.get(this.#isFair ? name : '')
    if (group) return group
    const created = { waiting: [], head: 0, inFlight: 0, worked: 0, isNoisy: false }
    this.#groups.set(this.#isFair ? name : '', created)
    return created
  }

  #next(): Group | undefined {
    const waiting = [...this.#groups.values()].filter(({ waiting, head }) => head < waiting.length)
    for (const group of this.#groups.values())
      group.isNoisy = group.head < group.waiting.length && (group.isNoisy || this.#takesTooMuch(group))
    const rank = (group: Group) =>
      group.isNoisy ? [1, group.inFlight] : [0, group.waiting[group.head]?.order ?? 0]
    return waiting.reduce<Group | undefined>((first, one) => {
      if (!first) return one
      const [[kind = 0, value = 0], [otherKind = 0, otherValue = 0]] = [rank(one), rank(first)]
      return kind < otherKind || (kind === otherKind && value < otherValue) ? one : first
    }, undefined)
  }

  #takesTooMuch({ inFlight, worked }: Group): boolean {
    return (inFlight >= 30 && inFlight > this.#inFlight / 10) || worked > this.#worked / 10
  }

  #decay(): void {
    const kept = 0.5 ** ((this.#now() - this.#decayedAt) / halfLifeMilliseconds)
    this.#decayedAt = this.#now()
    this.#worked *= kept
    for (const group of this.#groups.values()) group.worked *= kept
  }
}
