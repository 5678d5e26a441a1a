import type { CodeAttempt } from '#shared/otp/attempt.ts'
import { type CodeItem, codeKey } from '#shared/otp/code-item.ts'
import { checkCode, requestedCode } from '#shared/otp/one-time-code.ts'
import { Failure } from '#shared/platform/base/failure.ts'

const minute = 60_000
const person = { user_id: 'u', email_hash: 'h' }
const wrongCode = 'wrong'
/** The known sources of the start. Two more may become known: twenty are remembered. */
const known = ['K', ...Array.from({ length: 17 }, (_, n) => `known-${n}`)]

/** `K` has succeeded for the address before the sequence; `A`, `B` and the strangers have not. */
export type Source = 'A' | 'B' | 'K'

export type Step =
  | { is: 'request'; by: Source }
  | { is: 'wrong'; by: Source; times: number }
  /** The code that was mailed last for a source, submitted by the same or another source. */
  | { is: 'right'; by: Source; of: Source }
  /** Wrong codes, each from a new source. */
  | { is: 'strangers'; times: number }
  /** Wrong codes of further known sources in turn. */
  | { is: 'known'; times: number }
  | { is: 'minutes'; count: number }

/**
 * The codes of one address as the mailbox and the callers see them. It knows the promises, not the rules: each step
 * checks them against the mails and calls so far.
 */
export class ObservedCodes {
  #now = minute
  #item: CodeItem | undefined
  #calls = 0
  /** The latest mail for each source. */
  #mails = new Map<string, { id: string; at: number }>()
  #issued = new Map<string, number>()
  #used = new Set<string>()
  #known = new Set<string>(known)
  /** The times of the wrong codes of each source. */
  #wrong = new Map<string, number[]>()
  /** How often a wrong code could have been a certain one: from all sources, and from unknown ones. */
  #guesses = new Map<string, { all: number; unknown: number }>()
  #unknownMails: number[] = []
  readonly #settings: CodeAttempt['settings']

  constructor(settings: CodeAttempt['settings']) {
    this.#settings = settings
    this.#item = {
      ...codeKey('h'),
      tenant_id: 'public',
      codes: [],
      tries: [],
      mails: [],
      known: known.map((source) => ({ source, at: 0, tries: [] })),
      version: 1,
      expires_at: 0,
    }
  }

  copy(): ObservedCodes {
    const copy = new ObservedCodes(this.#settings)
    copy.#now = this.#now
    copy.#item = this.#item
    copy.#calls = this.#calls
    copy.#mails = new Map(this.#mails)
    copy.#issued = new Map(this.#issued)
    copy.#used = new Set(this.#used)
    copy.#known = new Set(this.#known)
    copy.#wrong = new Map(this.#wrong)
    copy.#guesses = new Map(this.#guesses)
    copy.#unknownMails = [...this.#unknownMails]
    return copy
  }

  /** @returns the first broken promise; undefined if all are kept */
  take(step: Step): string | undefined {
    if (step.is === 'minutes') this.#now += step.count * minute
    const broken = this.#act(step)
    return broken ?? this.#brokenPromise()
  }

  #act(step: Step): string | undefined {
    switch (step.is) {
      case 'request':
        return this.#request(step.by)
      case 'wrong':
        for (let n = 0; n < step.times; n += 1) this.#submitWrong(step.by)
        return
      case 'strangers':
        for (let n = 0; n < step.times; n += 1) this.#submitWrong(`stranger-${this.#calls}`)
        return
      case 'known':
        for (let n = 0; n < step.times; n += 1) this.#submitWrong(`known-${n % 17}`)
        return
      case 'right':
        return this.#submitRight(step.by, this.#mails.get(step.of)?.id)
      default:
        return
    }
  }

  #request(by: string): string | undefined {
    const { limit, windowSeconds } = this.#settings['otp.mailsPerAddress']
    const recent = this.#unknownMails.filter((at) => at > this.#now - windowSeconds * 1000)
    const isBound = !this.#known.has(by) && recent.length >= limit
    const before = this.#mails.get(by)
    const hasCompany = [...this.#mails].some(
      ([source, { id, at }]) => source !== by && id === before?.id && this.#now - at <= 5 * minute,
    )
    try {
      this.#calls += 1
      const { id, after } = requestedCode(
        this.#item,
        { person, fresh: { id: String(this.#calls), salt: String(this.#calls) } },
        this.#by(by),
      )
      if (isBound) return 'a mail above the limit'
      this.#item = after
      if (id === before?.id && !hasCompany) return 'a resend mails the same code though nobody else has it'
      this.#mails.set(by, { id, at: this.#now })
      if (!this.#issued.has(id)) this.#issued.set(id, this.#now)
      if (!this.#known.has(by)) this.#unknownMails.push(this.#now)
      if (this.#ownWrong(by) <= 2 && !this.#isAccepted(by, id)) return 'a spent code is mailed'
    } catch (error) {
      if (!(error instanceof Failure) || !isBound) throw error
    }
    return
  }

  #submitWrong(by: string): undefined {
    this.#calls += 1
    for (const id of this.#issued.keys()) {
      const { all, unknown } = this.#guessesOf(id)
      if (!this.#isAccepted(by, id)) continue
      this.#guesses.set(id, { all: all + 1, unknown: unknown + (this.#known.has(by) ? 0 : 1) })
    }
    this.#item = this.#submit(by, wrongCode).after
    this.#wrong.set(by, [...(this.#wrong.get(by) ?? []), this.#now])
  }

  #submitRight(by: string, id: string | undefined): string | undefined {
    if (id === undefined) return
    if (!this.#isAccepted(by, id)) return this.#submitWrong(by)
    this.#item = this.#submit(by, id).after
    if (this.#used.has(id)) return 'a used code is accepted'
    this.#used.add(id)
    if (!this.#known.has(by)) this.#wrong.delete(by)
    this.#known.add(by)
    return
  }

  #brokenPromise(): string | undefined {
    for (const [source, mail] of this.#mails) {
      if (this.#isPromised(source, mail) && !this.#isAccepted(source, mail.id)) {
        return `the code mailed for ${source} is not accepted`
      }
      const issued = [...this.#issued.keys()]
      const earlier = issued.slice(0, issued.indexOf(mail.id))
      if (earlier.some((id) => this.#isAccepted(source, id)))
        return `an earlier code is accepted from ${source}`
    }
    const latest = [...this.#mails.values()].filter(({ at }) => this.#now - at <= 5 * minute)
    for (const [id, issuedAt] of this.#issued) {
      const { all, unknown } = this.#guessesOf(id)
      if (all > 99 || unknown > 49) return 'too many guesses'
      // Any source: a new one is not limited by its wrong attempts.
      if (!this.#isAccepted('anybody', id) && !this.#isAccepted('K', id)) continue
      if (this.#now - issuedAt > 15 * minute) return 'a code is accepted after fifteen minutes'
      if (this.#used.has(id)) return 'a used code is accepted'
      if (!latest.some((mail) => mail.id === id)) return 'an earlier code is accepted'
    }
    return
  }

  /** Returns whether nothing but the source itself, a login or the cap of guesses may have ended the code. */
  #isPromised(source: string, { id, at }: { id: string; at: number }): boolean {
    const { all, unknown } = this.#guessesOf(id)
    const isGuessed = all >= 99 || (!this.#known.has(source) && unknown >= 49)
    return this.#now - at <= 5 * minute && !this.#used.has(id) && this.#ownWrong(source) <= 2 && !isGuessed
  }

  /** Returns the wrong codes of a source in five minutes. One counts once for each code that is open: at most twice. */
  #ownWrong(source: string): number {
    return (this.#wrong.get(source) ?? []).filter((time) => this.#now - time < 5 * minute).length
  }

  #guessesOf(id: string) {
    return this.#guesses.get(id) ?? { all: 0, unknown: 0 }
  }

  #isAccepted(by: string, id: string): boolean {
    return this.#submit(by, id).success
  }

  #submit(by: string, code: string) {
    return checkCode(this.#item, { person, isRight: ({ salt }) => salt === code }, this.#by(by))
  }

  #by(source: string): CodeAttempt {
    return { source, now: this.#now, settings: this.#settings }
  }
}
