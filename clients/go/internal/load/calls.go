package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	"github.com/onnxplain/onnxplain/clients/go/onnxplainv1"
)

const (
	patience  = 10 * time.Minute
	mostBytes = 1 << 30
)

// raw sends the bytes of a message as they are, and drops those of the answer.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(message any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(message.([]byte))}, nil
}

func (raw) Unmarshal(mem.BufferSlice, any) error { return nil }

// overGRPC calls Explain, on the connections in turn: one has 100 calls at a
// time at most.
func overGRPC(endpoint string, content []byte, connections int) (ask, error) {
	clients := make([]*grpc.ClientConn, connections)
	for i := range clients {
		client, err := grpc.NewClient(endpoint,
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDisableRetry(),
			grpc.WithDefaultCallOptions(
				grpc.ForceCodecV2(raw{}),
				grpc.MaxCallRecvMsgSize(mostBytes),
				grpc.MaxCallSendMsgSize(mostBytes),
			))
		if err != nil {
			return nil, err
		}
		if err := open(client); err != nil {
			return nil, err
		}
		clients[i] = client
	}
	return func(number int) string {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		method := onnxplainv1.ExplanationService_Explain_FullMethodName
		err := clients[number%connections].Invoke(ctx, method, content, nil)
		return code.Code(status.Code(err)).String()
	}, nil
}

// open connects before the first call, which would else be measured with it.
func open(client *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client.Connect()
	for state := client.GetState(); state != connectivity.Ready; state = client.GetState() {
		if !client.WaitForStateChange(ctx, state) {
			return ctx.Err()
		}
	}
	return nil
}

// overREST posts the body to an address.
func overREST(address string, body []byte, connections int) ask {
	client := &http.Client{
		Timeout:   patience,
		Transport: &http.Transport{MaxConnsPerHost: connections, MaxIdleConnsPerHost: connections},
	}
	return func(int) string {
		answer, err := client.Post(address, "application/json", bytes.NewReader(body))
		if err != nil {
			return err.Error()
		}
		defer answer.Body.Close()
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			return err.Error()
		}
		return strconv.Itoa(answer.StatusCode)
	}
}
