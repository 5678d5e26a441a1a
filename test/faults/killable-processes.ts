import { AsyncLocalStorage } from 'node:async_hooks'
import { type DynamoDBClient, TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb'
import fc from 'fast-check'
import { testClient } from '../support/dynamodb-client.ts'

/** The fault of one DynamoDB call. */
export type Blow =
  /** The response or the request is lost. */
  | 'lose-answer'
  | 'lose-request'
  /** The caller gets no response, and the call takes effect much later, when `land` is called. */
  | 'late'
  | 'throttle'
  | 'conflict'
  /** The calling process dies before or after the call takes effect. */
  | 'die-before'
  | 'die-after'

const blows: Blow[] = [
  'lose-answer',
  'lose-request',
  'late',
  'throttle',
  'conflict',
  'die-before',
  'die-after',
]

/** The faults of the calls of one process, in order; no faults afterwards. */
export const someBlows: fc.Arbitrary<(Blow | null)[]> = fc.array(
  fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 2, arbitrary: fc.constantFrom(...blows) }),
  { maxLength: 6 },
)

interface Process {
  blows: (Blow | null)[]
  died: PromiseWithResolvers<undefined>
}

export interface MortalProcesses {
  client: DynamoDBClient
  /** Runs work as a simulated process. @returns undefined if it died */
  run<T>(blows: readonly (Blow | null)[], work: () => Promise<T>): Promise<T | undefined>
  /** Executes all late calls. */
  land(): Promise<void>
}

/** A client of DynamoDB Local with simulated processes, each with its own faults. */
export function mortalProcesses(): MortalProcesses {
  const real = testClient()
  const current = new AsyncLocalStorage<Process>()
  const late: (() => Promise<unknown>)[] = []

  async function send(command: TransactWriteItemsCommand, options?: object): Promise<unknown> {
    const process = current.getStore()
    const blow = process?.blows.shift()
    if (!process || !blow) return real.send(command, options)
    if (blow === 'throttle') throw failure('ProvisionedThroughputExceededException')
    if (blow === 'conflict') throw conflict(command)
    // Nobody waits for it, so it continues after its caller gave up.
    const arrive = () => real.send(command).catch(() => undefined)
    if (blow === 'late') late.push(arrive)
    if (blow === 'lose-answer' || blow === 'die-after') await arrive()
    if (blow.startsWith('die')) return die(process)
    throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })
  }

  return {
    client: { send } as unknown as DynamoDBClient,
    run(blows, work) {
      const process: Process = { blows: [...blows], died: Promise.withResolvers() }
      return Promise.race([current.run(process, work), process.died.promise])
    },
    async land() {
      await Promise.all(late.splice(0).map((arrive) => arrive()))
    },
  }
}

function die({ died }: Process): Promise<never> {
  died.resolve(undefined)
  return new Promise(() => {})
}

function failure(name: string, more: object = {}): Error {
  return Object.assign(new Error(name), { name, ...more })
}

function conflict(command: unknown): Error {
  if (!(command instanceof TransactWriteItemsCommand)) return failure('TransactionConflictException')
  const CancellationReasons = command.input.TransactItems?.map((_, index) => ({
    Code: index === 0 ? 'TransactionConflict' : 'None',
  }))
  return failure('TransactionCanceledException', { CancellationReasons })
}
