import { expect, test } from '@jest/globals'
import type { Figures, Operation } from './peers/load.ts'
import { operations } from './peers/load.ts'
import { asPage } from './peers/report.ts'

const effort = { clients: 1, rounds: 1, warmUp: 1, requests: 1, contenders: 1 }
const versions = { node: '', processor: '', postgres: '', dynamodbLocal: '', vendure: '', medusa: '' }

function figuresOf(side: string, serverMs: number, databaseMs: number): Figures {
  const measured = { requestsPerSecond: 100, latenciesMs: [1], serverMs, databaseMs }
  const rounds = Object.fromEntries(operations.map((one) => [one, [measured]])) as Figures['rounds']
  return { side, rounds, contest: { answers: {}, rows: 1 } }
}

const sides = [figuresOf('ours', 2, 3), figuresOf('inside', 2, 3), figuresOf('Peer', 5, 1)]
const page = asPage(sides, effort, versions)
const rowsOf = (operation: Operation) =>
  page.split('\n').filter((line) => line.startsWith(`| ${operation} |`))

test('the first table has the processor time of the servers alone, and their ratio', () => {
  expect(rowsOf('create')[0]).toBe('| create | 2.0 | 5.0 | 2.5 |')
})

test('the databases have a table of their own', () => {
  expect(rowsOf('create')[1]).toBe('| create | 3.0 | 1.0 |')
})
