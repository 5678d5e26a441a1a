import type { Measurement, Operation } from './load.ts'

/** A code as returned by a side. */
export interface Row {
  id: string
  /** The entity tag for an update, if the side has entity tags. */
  etag?: string | undefined
}

/** A running service with discount codes, called through its API over HTTP on loopback. Every call throws unless it succeeds. */
export interface Side {
  name: string
  /** The processes of its server and its database, whose CPU time is measured. */
  pids: { server: number[]; database: number[] }
  create(code: string): Promise<Row>
  read(row: Row): Promise<unknown>
  /** The first page of 25. */
  list(): Promise<unknown>
  /** Changes one field to a new value. */
  update(row: Row, turn: number): Promise<Row>
  /** Makes the requests in the process of the side, if it supports that. */
  load?: (operation: Operation, requests: number, clients: number) => Promise<Measurement>
  /** Tries to create a code concurrently with others, and returns the outcome; never throws. */
  contend(code: string): Promise<string>
  /** Returns the number of rows of a code in its database. */
  rows(code: string): Promise<number>
}

export const pageSize = 25
/** The data that every side stores. */
export const offer = { name: 'Ten percent off', percent: 10, ends: '2099-01-01T00:00:00.000Z' }
