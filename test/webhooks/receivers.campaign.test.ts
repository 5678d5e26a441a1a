import { testReceiver } from './receiver-tests.ts'

testReceiver('Go')
testReceiver('shell')
