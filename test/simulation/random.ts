/** A stream of pseudo-random numbers, the same for the same seed and name on every machine (mulberry32). */
export class Random {
  #state: number
  readonly #name: number

  constructor(seed: number, name = '') {
    this.#name = hashOf(seed, name)
    this.#state = this.#name
  }

  /** Returns a stream that does not depend on how many numbers this one has returned. */
  fork(name: string): Random {
    return new Random(this.#name, name)
  }

  /** At least 0 and below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  /** At least 0 and below `count`. */
  int(count: number): number {
    return Math.floor(this.next() * count)
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(list: readonly T[]): T {
    return list[this.int(list.length)] as T
  }

  /** Picks by the weights of the entries. */
  weighted<Name extends string>(weights: Partial<Record<Name, number>>): Name {
    const entries = Object.entries(weights) as [Name, number][]
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0)
    for (const [name, weight] of entries) {
      left -= weight
      if (left < 0) return name
    }
    return (entries.at(-1) as [Name, number])[0]
  }

  bytes(length: number): Uint8Array {
    const bytes = new Uint8Array(length)
    for (let at = 0; at < length; at += 1) bytes[at] = this.int(256)
    return bytes
  }
}

/** FNV-1a over the seed and the name. */
function hashOf(seed: number, name: string): number {
  let hash = 0x811c9dc5 ^ seed
  for (let at = 0; at < name.length; at += 1) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  return (hash ^ (hash >>> 13)) | 0
}
