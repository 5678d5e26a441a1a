import { processorMs } from './processor.ts'
import type { Row, Side } from './side.ts'

export const operations = ['create', 'get', 'list', 'update'] as const
export type Operation = (typeof operations)[number]

/** The numbers of requests for each side. */
export interface Effort {
  clients: number
  rounds: number
  /** Requests of each operation before the measurement. */
  warmUp: number
  /** Requests of each operation in a round. */
  requests: number
  /** Concurrent creates of the same code. */
  contenders: number
}

/** One operation of one side in one round. */
export interface Measurement {
  requestsPerSecond: number
  /** CPU time of a request. */
  serverMs: number
  databaseMs: number
  latenciesMs: number[]
}

interface Contest {
  /** The number of each response. */
  answers: Record<string, number>
  rows: number
}

export interface Figures {
  side: string
  rounds: Record<Operation, Measurement[]>
  contest: Contest
}

/** Measures all sides alternately: within a round, each operation runs on one side after another. */
export async function measure(sides: Side[], effort: Effort): Promise<Figures[]> {
  const loads = sides.map((side) => ({ side, load: side.load ?? loadOf(side), rounds: emptyRounds() }))
  for (const { side, load } of loads) {
    console.log(`warming up ${side.name} …`)
    for (const operation of operations) await load(operation, effort.warmUp, effort.clients)
  }
  for (let round = 0; round < effort.rounds; round += 1) {
    for (const operation of operations) {
      // Each round starts with another side, so none always follows the same one.
      const turns = [...loads.slice(round % loads.length), ...loads.slice(0, round % loads.length)]
      for (const { side, load, rounds } of turns) {
        const measured = await load(operation, effort.requests, effort.clients)
        rounds[operation].push(measured)
        const rate = measured.requestsPerSecond.toFixed(0)
        console.log(`round ${round + 1}: ${side.name}, ${operation}: ${rate} requests a second`)
      }
    }
  }
  const figures: Figures[] = []
  for (const { side, rounds } of loads) {
    figures.push({ side: side.name, rounds, contest: await contest(side, effort.contenders) })
  }
  return figures
}

type Caller = Pick<Side, 'name' | 'create' | 'read' | 'list' | 'update'>

/** The client of a side, in this process. */
export function loadOf(side: Caller & Pick<Side, 'pids'>): NonNullable<Side['load']> {
  const calls = callsOf(side)
  return (operation, requests, clients) => loaded(side, calls[operation], requests, clients)
}

/** A call of an operation by one client: `client` is its number, `turn` that of the call. */
type Call = (client: number, turn: number) => Promise<unknown>

function callsOf(side: Caller): Record<Operation, Call> {
  const rows: Row[] = []
  const codes = numbered('BENCH')
  const rowAt = (index: number) => {
    const row = rows[index % rows.length]
    if (!row) throw new Error(`${side.name} has no code yet`)
    return row
  }
  let turns = 0
  return {
    create: async () => rows.push(await side.create(codes())),
    get: (_, turn) => side.read(rowAt(turn)),
    list: () => side.list(),
    // Each client changes its own code, so no change is rejected.
    update: async (client) => {
      turns += 1
      rows[client] = await side.update(rowAt(client), turns)
    },
  }
}

async function loaded(
  { pids }: Pick<Side, 'pids'>,
  call: Call,
  requests: number,
  clients: number,
): Promise<Measurement> {
  const latenciesMs: number[] = []
  let begun = 0
  const client = async (number: number) => {
    while (begun < requests) {
      begun += 1
      const started = performance.now()
      await call(number, begun)
      latenciesMs.push(performance.now() - started)
    }
  }
  const taken = () => Promise.all([processorMs(pids.server), processorMs(pids.database)])
  const [server, database] = await taken()
  const started = performance.now()
  await Promise.all(Array.from({ length: clients }, (_, number) => client(number)))
  const seconds = (performance.now() - started) / 1000
  const [serverAfter, databaseAfter] = await taken()
  return {
    requestsPerSecond: requests / seconds,
    serverMs: (serverAfter - server) / requests,
    databaseMs: (databaseAfter - database) / requests,
    latenciesMs,
  }
}

async function contest(side: Side, contenders: number): Promise<Contest> {
  const code = 'CONTESTED'
  const responses = await Promise.all(Array.from({ length: contenders }, () => side.contend(code)))
  const answers: Record<string, number> = {}
  for (const answer of responses) answers[answer] = (answers[answer] ?? 0) + 1
  return { answers, rows: await side.rows(code) }
}

function numbered(prefix: string): () => string {
  let number = 0
  return () => {
    number += 1
    return `${prefix}-${number}`
  }
}

const emptyRounds = (): Record<Operation, Measurement[]> => ({ create: [], get: [], list: [], update: [] })
