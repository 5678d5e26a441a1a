import { expect, test } from '@jest/globals'
import { runsAll } from '#test/support/runs.ts'
import { simulate } from './run-simulate.ts'

const { SIMULATION_RUNS, SEED } = process.env
const runs = Number(SIMULATION_RUNS ?? (runsAll ? 50_000 : 200))
const seed = Number(SEED ?? 20_261_123)

test(
  `no schedule breaks a promise: ${runs} from seed ${seed}`,
  async () => {
    const { code, output } = await simulate('--runs', String(runs), '--seed', String(seed))
    expect(code === 0 ? '' : output).toBe('')
  },
  Math.max(900_000, runs * 300),
)

test('a seed gives the same timeline, byte for byte', async () => {
  const play = () => simulate('--runs', '5', '--seed', String(seed), '--timeline')
  const [first, second] = [await play(), await play()]
  const timeline = ({ output }: { output: string }) =>
    output.split('\n').filter((line) => / ms {2}/.test(line))
  expect(timeline(first).length).toBeGreaterThan(500)
  expect(timeline(second)).toEqual(timeline(first))
})
