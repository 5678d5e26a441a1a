/**
 * A model of a pagination session, based only on the items stored at its start and their changes: a page is a range of
 * these items, without those that the filters exclude.
 */
export class PaginationModel<Member> {
  readonly #all: readonly Member[]
  readonly #matches: (member: Member) => boolean
  /** The start and end of the current page. */
  #start = 0
  #end = 0
  /** The start of the previous page, if it was read. */
  #bound: number | undefined

  /** @param all the items before the first page, in the order of the session; @param matches the filters on their current state */
  constructor(all: readonly Member[], matches: (member: Member) => boolean) {
    this.#all = all
    this.#matches = matches
  }

  /** Returns the following page, and whether there is a next one. */
  next(pageSize: number): { shown: Member[]; more: boolean } {
    const left = this.#between(this.#end, this.#all.length)
    this.#bound = this.#start
    this.#start = this.#end
    const beyond = left[pageSize]
    this.#end = beyond === undefined ? this.#all.length : this.#all.indexOf(beyond)
    return { shown: left.slice(0, pageSize), more: beyond !== undefined }
  }

  /** Returns the previous page, or the requested number of its last items. */
  prev(pageSize: number): Member[] {
    const low = this.#bound ?? 0
    const left = this.#between(low, this.#start)
    this.#end = this.#start
    const beyond = left.at(-pageSize - 1)
    this.#start = beyond === undefined ? low : this.#all.indexOf(beyond) + 1
    this.#bound = undefined
    return left.slice(-pageSize)
  }

  get atStart(): boolean {
    return this.#start === 0
  }

  #between(low: number, high: number): Member[] {
    return this.#all.slice(low, high).filter(this.#matches)
  }
}
