import type { Measurement, Operation } from './load.ts'

/** A code as its side tells of it. */
export interface Row {
  id: string
  /** Where the side has entity tags: what an update must have seen. */
  etag?: string | undefined
}

/** A running service that keeps discount codes, by its own API over HTTP on loopback. Every call throws unless it succeeds. */
export interface Side {
  name: string
  /** The processes of its server and of its database, with whose time a request is paid. */
  pids: { server: number[]; database: number[] }
  create(code: string): Promise<Row>
  read(row: Row): Promise<unknown>
  /** The first page of 25. */
  list(): Promise<unknown>
  /** Changes one field to something that it was not. */
  update(row: Row, turn: number): Promise<Row>
  /** Where the side makes the requests itself, in its own process. */
  load?: (operation: Operation, requests: number, clients: number) => Promise<Measurement>
  /** Tries to create a code that others try to create, and says how it was answered; never throws. */
  contend(code: string): Promise<string>
  /** How many rows of a code its database holds. */
  rows(code: string): Promise<number>
}

export const pageSize = 25
/** What every side is asked to keep. */
export const offer = { name: 'Ten percent off', percent: 10, ends: '2099-01-01T00:00:00.000Z' }
