/**
 * What a walk must show, told from nothing but what was stored when it began and what became of it: a page is a
 * stretch of that, and what its filters leave of the stretch is shown.
 */
export class WalkModel<Member> {
  readonly #all: readonly Member[]
  readonly #passes: (member: Member) => boolean
  /** Where the page that is held begins and ends. */
  #start = 0
  #end = 0
  /** Where the page before begins, if that was seen. */
  #bound: number | undefined

  /** @param all what was there before the first page, in the order of the walk; @param passes as it is by now */
  constructor(all: readonly Member[], passes: (member: Member) => boolean) {
    this.#all = all
    this.#passes = passes
  }

  /** The page after, and whether there is a next one: what the rest of the walk has to show. */
  next(pageSize: number): { shown: Member[]; more: boolean } {
    const left = this.#between(this.#end, this.#all.length)
    this.#bound = this.#start
    this.#start = this.#end
    const beyond = left[pageSize]
    this.#end = beyond === undefined ? this.#all.length : this.#all.indexOf(beyond)
    return { shown: left.slice(0, pageSize), more: beyond !== undefined }
  }

  /** The page before, or as much of its end as was asked for. */
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
    return this.#all.slice(low, high).filter(this.#passes)
  }
}
