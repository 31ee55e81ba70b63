// Command load asks one thing of a server all the time, and prints what became
// of each call as JSON: for bench/server/load.py and bench/server/capacity.py.
//
// The loop is closed (-callers: each asks again as soon as it has its answer)
// or open (-rate: so many calls per second, whatever is answered). Messages are
// prepared before and answers are not read, because the generator has its
// processor time from the cores that it measures. Nothing is asked again.
package main

import (
	"encoding/json"
	"flag"
	"log"
	"os"
	"strings"
	"time"
)

func main() {
	seconds := flag.Float64("seconds", 10, "how long calls begin")
	callers := flag.Int("callers", 0, "closed loop: how many ask one after another")
	rate := flag.Float64("rate", 0, "open loop: calls per second")
	connections := flag.Int("connections", 8, "how many share the calls")
	flag.Parse()
	if flag.NArg() != 2 || (*callers > 0) == (*rate > 0) {
		log.Fatal("usage: load -callers N | -rate R [-seconds S] [-connections C] ENDPOINT REQUEST")
	}
	ask, err := connect(flag.Arg(0), flag.Arg(1), *connections)
	if err != nil {
		log.Fatal(err)
	}
	length := time.Duration(*seconds * float64(time.Second))
	var outcomes []outcome
	if *callers > 0 {
		outcomes = closedLoop(ask, *callers, length)
	} else {
		outcomes = openLoop(ask, *rate, length)
	}
	if err := json.NewEncoder(os.Stdout).Encode(outcomes); err != nil {
		log.Fatal(err)
	}
}

// connect prepares calls of an endpoint: over REST for http://…, else over
// gRPC. The request is a file with the body, or with the message.
func connect(endpoint, request string, connections int) (ask, error) {
	content, err := os.ReadFile(request)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(endpoint, "http://") {
		return overREST(endpoint, content, connections), nil
	}
	return overGRPC(endpoint, content, connections)
}
