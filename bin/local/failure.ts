/** A failure that the reader can act on: one sentence, and where it helps the full output of the failed step. */
export class StartFailure extends Error {
  readonly output: string

  constructor(sentence: string, output = '') {
    super(sentence)
    this.name = 'StartFailure'
    this.output = output
  }
}
